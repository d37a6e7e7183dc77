// Random objects of every kind that drachma serves, written as Protobuf by upstream's types and read by
// drachma: the JSON must mean what upstream's JSON of the same object means.
//
//	protobuf DECODER SAMPLES COUNT SEED
//
// DECODER reads a body in base64 a line and answers with a line of JSON each. SAMPLES names the kinds
// (tests/api/samples.jsonl). COUNT objects of each kind. Ends with 'N passed, N failed'.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"reflect"
	"strconv"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	runtimeserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// kinds reads which kinds there are.
func kinds(samples string) []schema.GroupVersionKind {
	file, err := os.Open(samples)
	check(err)
	defer file.Close()
	var found []schema.GroupVersionKind
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var sample struct {
			JSON struct{ APIVersion, Kind string }
		}
		check(json.Unmarshal(lines.Bytes(), &sample))
		found = append(found, schema.FromAPIVersionAndKind(sample.JSON.APIVersion, sample.JSON.Kind))
	}
	return found
}

// fills are for types that hold text of a form, where random text would be none.
func fills(runtimeserializer.CodecFactory) []interface{} {
	return []interface{}{
		func(raw *runtime.RawExtension, c randfill.Continue) {
			raw.Raw = []byte(fmt.Sprintf(`{"apiVersion":"a/v1","kind":"K","n":%d}`, c.Int31()))
			raw.Object = nil
		},
		func(value *apiextensions.JSON, c randfill.Continue) {
			value.Raw = []byte(fmt.Sprintf(`{"n":[%d,null,"x"]}`, c.Int31()))
		},
		func(schema *apiextensions.JSONSchemaProps, c randfill.Continue) {
			// Recursive: a random tree of it has no end.
			*schema = apiextensions.JSONSchemaProps{Description: c.String(0), Type: c.String(0), Format: c.String(0)}
			number := float64(c.Int31()) / 4
			length := c.Int63()
			schema.Maximum, schema.MaxLength = &number, &length
			schema.Default = &apiextensions.JSON{Raw: []byte(`{"a":1}`)}
			schema.Properties = map[string]apiextensions.JSONSchemaProps{c.String(1): {Type: "integer"}}
			schema.Items = &apiextensions.JSONSchemaPropsOrArray{Schema: &apiextensions.JSONSchemaProps{Type: "string"}}
			schema.AdditionalProperties = &apiextensions.JSONSchemaPropsOrBool{Allows: c.Bool()}
		},
	}
}

// meaning is a JSON document without what says nothing: nulls, empty lists and objects.
func meaning(document []byte) (interface{}, error) {
	reader := json.NewDecoder(bytes.NewReader(document))
	reader.UseNumber()
	var value interface{}
	if err := reader.Decode(&value); err != nil {
		return nil, err
	}
	return bare(value), nil
}

func bare(value interface{}) interface{} {
	switch typed := value.(type) {
	case map[string]interface{}:
		for key, member := range typed {
			if member = bare(member); member == nil {
				delete(typed, key)
			} else {
				typed[key] = member
			}
		}
		if len(typed) == 0 {
			return nil
		}
	case []interface{}:
		for i := range typed {
			typed[i] = bare(typed[i])
		}
		if len(typed) == 0 {
			return nil
		}
	}
	return value
}

// decoder asks drachma.
type decoder struct {
	in  io.Writer
	out *bufio.Reader
}

func (d decoder) decode(body []byte) []byte {
	_, err := fmt.Fprintln(d.in, base64.StdEncoding.EncodeToString(body))
	check(err)
	line, err := d.out.ReadBytes('\n')
	check(err)
	return bytes.TrimSpace(line)
}

func startDecoder(program string) decoder {
	command := exec.Command(program)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	check(err)
	out, err := command.StdoutPipe()
	check(err)
	check(command.Start())
	return decoder{in: in, out: bufio.NewReaderSize(out, 1<<20)}
}

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: protobuf DECODER SAMPLES COUNT SEED")
		os.Exit(2)
	}
	count, err := strconv.Atoi(os.Args[3])
	check(err)
	seed, err := strconv.ParseInt(os.Args[4], 10, 64)
	check(err)
	check(apiextensions.AddToScheme(scheme.Scheme))
	codecs := runtimeserializer.NewCodecFactory(scheme.Scheme)
	random := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, fills), rand.NewSource(seed), codecs)
	serializer := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	ours := startDecoder(os.Args[1])
	passed, failed := 0, 0
	for _, kind := range kinds(os.Args[2]) {
		for i := 0; i < count; i++ {
			object, err := scheme.Scheme.New(kind)
			check(err)
			random.Fill(object)
			object.GetObjectKind().SetGroupVersionKind(kind)
			var body bytes.Buffer
			check(serializer.Encode(object, &body))
			// What upstream itself understands: Protobuf does not tell empty from absent.
			read, _, err := serializer.Decode(body.Bytes(), &kind, nil)
			check(err)
			read.GetObjectKind().SetGroupVersionKind(kind)
			text, err := json.Marshal(read)
			check(err)
			want, err := meaning(text)
			check(err)
			answer := ours.decode(body.Bytes())
			got, err := meaning(answer)
			if err == nil && reflect.DeepEqual(want, got) {
				passed++
				continue
			}
			failed++
			if failed <= 10 {
				fmt.Printf("%v\n upstream: %s\n     here: %s\n", kind, text, answer)
			}
		}
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}
