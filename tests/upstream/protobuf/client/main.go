// How Go's typed clients get on with an API server that answers no Protobuf and speaks no HTTP/2.
//
//	client KUBECONFIG
//
// Ends with 'N passed, N failed'.
package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	typedresource "k8s.io/client-go/kubernetes/typed/resource/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var passed, failed int

func expect(fact string, holds bool, shown ...any) {
	if holds {
		passed++
		return
	}
	failed++
	fmt.Println("FAILED:", fact, shown)
}

func check(err error) {
	if err != nil {
		fmt.Println("FAILED:", err)
		os.Exit(1)
	}
}

// typed writes and reads as upstream's components do: Protobuf bodies, answers in what there is.
func typed(ctx context.Context, config *rest.Config) {
	config = rest.CopyConfig(config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	core, err := typedcore.NewForConfig(config)
	check(err)
	secrets := core.Secrets("default")
	watch, err := secrets.Watch(ctx, metav1.ListOptions{})
	check(err)
	secret, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"},
		Data: map[string][]byte{"empty": {}, "bytes": {0, 255}}}, metav1.CreateOptions{})
	check(err)
	empty, there := secret.Data["empty"]
	expect("empty data stay", there && len(empty) == 0, secret.Data)
	expect("bytes stay", string(secret.Data["bytes"]) == "\x00\xff", secret.Data)
	event := <-watch.ResultChan()
	watch.Stop()
	seen, ok := event.Object.(*corev1.Secret)
	expect("a watch tells of it", ok && seen.UID == secret.UID, event)
	list, err := secrets.List(ctx, metav1.ListOptions{})
	check(err)
	expect("a list has it", len(list.Items) == 1, list)
	claims, err := typedresource.NewForConfig(config)
	check(err)
	claim, err := claims.ResourceClaims("default").Create(ctx, &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "c"},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
			{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu"}}}}}}, metav1.CreateOptions{})
	check(err)
	expect("defaults are set", claim.Spec.Devices.Requests[0].Exactly.Count == 1, claim)
}

// insistent accepts nothing but Protobuf, which is refused as what it is.
func insistent(ctx context.Context, config *rest.Config) {
	config = rest.CopyConfig(config)
	config.GroupVersion = &corev1.SchemeGroupVersion
	config.APIPath = "/api"
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientFor(config)
	check(err)
	err = client.Get().Resource("namespaces").SetHeader("Accept", "application/vnd.kubernetes.protobuf").Do(ctx).Error()
	expect("only Protobuf is not acceptable", apierrors.IsNotAcceptable(err), err)
}

// protocol asks with a client that prefers HTTP/2.
func protocol(config *rest.Config) {
	client := http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	answer, err := client.Get(config.Host + "/readyz")
	check(err)
	answer.Body.Close()
	expect("HTTP/2 falls back", answer.StatusCode == 200 && answer.Proto == "HTTP/1.1", answer.Proto)
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	check(err)
	ctx := context.Background()
	typed(ctx, config)
	insistent(ctx, config)
	protocol(config)
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}
