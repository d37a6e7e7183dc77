#include "rpc/plugin_server.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <optional>

#include "client/fake_client.h"
#include "client/objects.h"
#include "dra_health_v1.grpc.pb.h"
#include "dra_v1.grpc.pb.h"
#include "health_v1.grpc.pb.h"
#include "node/fake_plugin.h"
#include "rpc/remote_plugin.h"
#include "rpc/sockets.h"

namespace drachma::rpc {
namespace {

using json::Value;
using node::ClaimRef;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kDriver = "gpu.nvidia.com";
constexpr std::string_view kObjects = R"(
{apiVersion: v1, kind: Node, metadata: {name: host, uid: node-1}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim,
 metadata: {name: c, namespace: x, uid: u1}, status: {allocation: {devices: {results: [
 {driver: gpu.nvidia.com, pool: host, device: gpu-0, request: gpu}]}}}}
)";
const ClaimRef kRef{.ns = "x", .name = "c", .uid = "u1"};

// Runs `use` on an executor and waits for what it returns.
template <typename Use>
auto On(Executor& executor, Use use) {
  std::promise<decltype(use())> promise;
  executor.Post([&] {
    if constexpr (std::is_void_v<decltype(use())>) {
      use();
      promise.set_value();
    } else {
      promise.set_value(use());
    }
  });
  return promise.get_future().get();
}

std::vector<node::Pool> PoolWithTaint(std::string_view value) {
  Value device = Value::Object({{"name", "gpu-0"}});
  if (!value.empty()) {
    device.Set("taints",
               Value::Array({Value::Object(
                   {{"key", "gpu.nvidia.com/xid"}, {"value", value}, {"effect", "NoSchedule"}})}));
  }
  return {{.name = "host", .slices = {{.devices = {std::move(device)}}}}};
}

// A driver with a thread of its own on an API server of its own.
class Driver {
 public:
  explicit Driver(const PluginServer::Options& options) {
    started_ = On(executor_, [&]() -> Status {
      api_ = std::make_unique<client::FakeApi>();
      api_->Apply(kObjects);
      client_ = api_->factory().NewClient(executor_, "driver");
      plugin_.SetPools(PoolWithTaint(""));
      host_ = std::make_unique<node::DriverHost>("host", *client_, plugin_);
      host_->Start();
      DRA_ASSIGN(server_, PluginServer::Start(options, *host_, executor_));
      return {};
    });
  }
  ~Driver() {
    On(executor_, [&] {
      server_.reset();
      host_.reset();
      client_.reset();
      api_.reset();
    });
  }

  template <typename Use>
  auto Ask(Use use) {
    return On(executor_, [&] { return use(plugin_); });
  }
  [[nodiscard]] const Status& started() const { return started_; }
  [[nodiscard]] int health_port() const { return server_->health_port(); }

 private:
  ThreadExecutor executor_{"driver"};
  std::unique_ptr<client::FakeApi> api_;
  std::unique_ptr<client::Client> client_;
  node::FakePlugin plugin_;
  std::unique_ptr<node::DriverHost> host_;
  std::unique_ptr<PluginServer> server_;
  Status started_;
};

// The kubelet's side.
class Kubelet {
 public:
  explicit Kubelet(const PluginInfo& info) {
    On(executor_, [&] { plugin_ = std::make_unique<RemotePlugin>(info, executor_); });
  }
  ~Kubelet() {
    On(executor_, [&] { plugin_.reset(); });
  }

  std::future<node::PrepareAnswer> StartPrepare(const ClaimRef& ref) {
    auto promise = std::make_shared<std::promise<node::PrepareAnswer>>();
    executor_.Post([this, ref, promise] {
      const Value claim = Value::Object(
          {{"metadata",
            Value::Object({{"namespace", ref.ns}, {"name", ref.name}, {"uid", ref.uid}})}});
      plugin_->Prepare({&claim, 1}, [promise](node::PrepareAnswer answer) {
        promise->set_value(std::move(answer));
      });
    });
    return promise->get_future();
  }
  node::PrepareResult Prepare(const ClaimRef& ref) { return StartPrepare(ref).get().at(ref.uid); }
  Status Unprepare(const ClaimRef& ref) {
    std::promise<Status> promise;
    executor_.Post([&] {
      plugin_->Unprepare({&ref, 1}, [&](const node::UnprepareAnswer& answer) {
        promise.set_value(answer.at(ref.uid));
      });
    });
    return promise.get_future().get();
  }

 private:
  ThreadExecutor executor_{"kubelet"};
  std::unique_ptr<RemotePlugin> plugin_;
};

class PluginServerTest : public ::testing::Test {
 protected:
  PluginServerTest() {
    char name[] = "/tmp/rpc-test-XXXXXX";
    dir_ = mkdtemp(name);
    const PluginSockets sockets = SocketsOf(dir_, kDriver);
    options_ = {.registration_socket = sockets.registration, .service_socket = sockets.service};
  }
  ~PluginServerTest() override { std::filesystem::remove_all(dir_); }

  PluginInfo Info() const {
    return {.driver = std::string(kDriver),
            .endpoint = options_.service_socket,
            .services = {"v1.DRAPlugin"}};
  }
  std::shared_ptr<grpc::Channel> Channel(const grpc::ChannelArguments& arguments = {}) const {
    return grpc::CreateCustomChannel("unix:" + options_.service_socket,
                                     grpc::InsecureChannelCredentials(), arguments);
  }

  std::string dir_;
  PluginServer::Options options_;
};

TEST_F(PluginServerTest, AKubeletFindsTheDriver) {
  const Driver driver(options_);
  ASSERT_TRUE(driver.started());
  const auto info = AskPlugin(options_.registration_socket);
  ASSERT_TRUE(info);
  EXPECT_EQ(*info, (PluginInfo{
                       .driver = std::string(kDriver),
                       .endpoint = dir_ + "/plugins/gpu.nvidia.com/dra.sock",
                       .services = {"v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth"}}));
  EXPECT_TRUE(NotifyPlugin(options_.registration_socket, {}));
}

TEST_F(PluginServerTest, AClaimIsPreparedAndGivenBackAsOftenAsAsked) {
  Driver driver(options_);
  Kubelet kubelet(Info());
  for (int i = 0; i < 2; ++i) {
    const node::PrepareResult devices = kubelet.Prepare(kRef);
    ASSERT_TRUE(devices);
    EXPECT_EQ(devices->front().device, "gpu-0");
    EXPECT_THAT(devices->front().requests, ElementsAre("gpu"));
    EXPECT_THAT(devices->front().cdi_device_ids, ElementsAre("k8s.gpu.nvidia.com/claim=u1-gpu-0"));
  }
  EXPECT_TRUE(kubelet.Unprepare(kRef));
  EXPECT_TRUE(kubelet.Unprepare(kRef));
  EXPECT_TRUE(kubelet.Unprepare({.ns = "x", .name = "never", .uid = "u9"}));
}

TEST_F(PluginServerTest, OnlyTheNewestVersionTellsOfShares) {
  Driver driver(options_);
  driver.Ask([](node::FakePlugin& plugin) { plugin.ShareAs("share-1"); });
  PluginInfo info = Info();
  EXPECT_EQ(Kubelet(info).Prepare(kRef)->front().share_id, "share-1");
  info.services = {"v1beta1.DRAPlugin"};
  EXPECT_EQ(Kubelet(info).Prepare(kRef)->front().share_id, "");
}

TEST_F(PluginServerTest, AClaimThatIsNotTheOneMeantIsRefused) {
  const Driver driver(options_);
  Kubelet kubelet(Info());
  EXPECT_EQ(kubelet.Prepare({.ns = "x", .name = "c", .uid = "u2"}).error().message,
            "claim x/c got replaced");
  EXPECT_THAT(kubelet.Prepare({.ns = "x", .name = "d", .uid = "u3"}).error().message,
              HasSubstr("retrieve claim x/d: "));
}

TEST_F(PluginServerTest, TheAuthorityMayBeThePathOfTheSocket) {
  const Driver driver(options_);
  grpc::ChannelArguments arguments;
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "%2Fvar%2Flib%2Fkubelet%2Fplugins%2Fx.sock");
  using Api = k8s::io::kubelet::pkg::apis::dra::v1::DRAPlugin;
  grpc::ClientContext context;
  k8s::io::kubelet::pkg::apis::dra::v1::NodePrepareResourcesResponse response;
  EXPECT_TRUE(Api::NewStub(Channel(arguments))->NodePrepareResources(&context, {}, &response).ok());
}

TEST_F(PluginServerTest, TheNextProcessTakesTheSocketsOfADeadOne) {
  for (const std::string& path : {options_.registration_socket, options_.service_socket}) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    close(fd);  // the file stays, as after kill -9
  }
  const Driver driver(options_);
  ASSERT_TRUE(driver.started());
  EXPECT_TRUE(AskPlugin(options_.registration_socket));
}

TEST_F(PluginServerTest, TheSocketsOfALivingProcessAreLeftAlone) {
  const Driver first(options_);
  ASSERT_TRUE(first.started());
  const Driver second(options_);
  ASSERT_FALSE(second.started());
  EXPECT_THAT(second.started().error().message, HasSubstr("another process serves it"));
  EXPECT_TRUE(AskPlugin(options_.registration_socket));
}

TEST_F(PluginServerTest, AFileInTheWayIsNotRemoved) {
  std::filesystem::create_directories(dir_ + "/plugins/gpu.nvidia.com");
  std::ofstream(options_.service_socket) << "mine";
  const Driver driver(options_);
  ASSERT_FALSE(driver.started());
  EXPECT_TRUE(std::filesystem::is_regular_file(options_.service_socket));
}

TEST_F(PluginServerTest, TheEndRemovesTheSocketsAndTheNextDriverServes) {
  {
    const Driver driver(options_);
  }
  EXPECT_FALSE(std::filesystem::exists(options_.registration_socket));
  EXPECT_FALSE(std::filesystem::exists(options_.service_socket));
  Kubelet kubelet(Info());
  EXPECT_EQ(kubelet.Prepare(kRef).error().code, Code::kUnavailable);
  const Driver next(options_);
  // gRPC waits a little between attempts to connect.
  const auto prepared = [&] {
    for (int i = 0; i < 1000; ++i) {
      if (kubelet.Prepare(kRef)) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  };
  EXPECT_TRUE(prepared());
}

TEST_F(PluginServerTest, TheEndAnswersCallsThatAreUnderWay) {
  std::optional<Driver> driver(options_);
  driver->Ask([](node::FakePlugin& plugin) { plugin.HoldAnswers(); });
  Kubelet kubelet(Info());
  auto answer = kubelet.StartPrepare(kRef);
  while (driver->Ask([](node::FakePlugin& plugin) { return plugin.calls().empty(); })) {
    std::this_thread::yield();
  }
  driver.reset();
  EXPECT_EQ(answer.get().at("u1").error().code, Code::kUnavailable);
}

TEST_F(PluginServerTest, AKubeletThatEndsDropsItsCalls) {
  Driver driver(options_);
  driver.Ask([](node::FakePlugin& plugin) { plugin.HoldAnswers(); });
  std::future<node::PrepareAnswer> answer;
  {
    Kubelet kubelet(Info());
    answer = kubelet.StartPrepare(kRef);
    while (driver.Ask([](node::FakePlugin& plugin) { return plugin.calls().empty(); })) {
      std::this_thread::yield();
    }
  }
  EXPECT_THROW(answer.get(), std::future_error);
  driver.Ask([](node::FakePlugin& plugin) { plugin.Release(); });
  EXPECT_TRUE(Kubelet(Info()).Prepare(kRef));
}

TEST_F(PluginServerTest, APeerThatSpeaksNonsenseDisturbsNobody) {
  const Driver driver(options_);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  options_.service_socket.copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const std::string nonsense = "GET / HTTP/1.1\r\n\r\n";
  ASSERT_EQ(send(fd, nonsense.data(), nonsense.size(), 0), static_cast<ssize_t>(nonsense.size()));
  EXPECT_TRUE(Kubelet(Info()).Prepare(kRef));
  close(fd);
}

TEST_F(PluginServerTest, HealthIsTheFirstThingToldAndThenEachChange) {
  Driver driver(options_);
  const auto stub = v1::DRAResourceHealth::NewStub(Channel());
  grpc::ClientContext context;
  const auto stream = stub->NodeWatchResources(&context, {});
  v1::NodeWatchResourcesResponse message;
  ASSERT_TRUE(stream->Read(&message));
  EXPECT_EQ(message.devices(0).device().device_name(), "gpu-0");
  EXPECT_EQ(message.devices(0).health(), v1::HEALTHY);
  driver.Ask([](node::FakePlugin& plugin) { plugin.SetPools(PoolWithTaint("79")); });
  ASSERT_TRUE(stream->Read(&message));
  EXPECT_EQ(message.devices(0).health(), v1::UNHEALTHY);
  EXPECT_EQ(message.devices(0).message(), "gpu.nvidia.com/xid=79");
  context.TryCancel();
  stream->Finish();
}

TEST_F(PluginServerTest, TheEndEndsHealthStreams) {
  std::optional<Driver> driver(options_);
  const auto stub = v1::DRAResourceHealth::NewStub(Channel());
  grpc::ClientContext context;
  const auto stream = stub->NodeWatchResources(&context, {});
  v1::NodeWatchResourcesResponse message;
  ASSERT_TRUE(stream->Read(&message));
  driver.reset();
  while (stream->Read(&message)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(PluginServerTest, ProbesTellLivenessAndReadiness) {
  options_.health_listen = "127.0.0.1:0";
  const Driver driver(options_);
  ASSERT_TRUE(driver.started());
  const auto stub = grpc::health::v1::Health::NewStub(grpc::CreateChannel(
      "127.0.0.1:" + std::to_string(driver.health_port()), grpc::InsecureChannelCredentials()));
  const auto check = [&](const std::string& service) -> std::string {
    grpc::ClientContext context;
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(service);
    grpc::health::v1::HealthCheckResponse response;
    const grpc::Status status = stub->Check(&context, request, &response);
    if (!status.ok()) return status.error_message();
    return grpc::health::v1::HealthCheckResponse::ServingStatus_Name(response.status());
  };
  EXPECT_EQ(check(""), "SERVING");
  EXPECT_EQ(check("readiness"), "NOT_SERVING");  // no kubelet has come
  ASSERT_TRUE(NotifyPlugin(options_.registration_socket, {}));
  EXPECT_EQ(check("readiness"), "SERVING");
  ASSERT_TRUE(NotifyPlugin(options_.registration_socket, Fail(Code::kInvalid, "no")));
  EXPECT_EQ(check("readiness"), "NOT_SERVING");
  EXPECT_EQ(check("what"), "unknown service: what");
}

TEST_F(PluginServerTest, ASimulatedKubeletTakesTheDriversOfAFolder) {
  const Driver driver(options_);
  ThreadExecutor executor("kubelet");
  EXPECT_TRUE(On(executor, [&] {
    const auto plugins = RegisteredPlugins(dir_ + "/plugins_registry", executor);
    return plugins && plugins->size() == 1 && plugins->front()->driver() == kDriver;
  }));
  EXPECT_EQ(RegisteredPlugins(dir_ + "/plugins", executor).error().code, Code::kUnavailable);
}

TEST(SocketsTest, APodHasSocketsOfItsOwn) {
  const PluginSockets sockets = SocketsOf("/var/lib/kubelet", "gpu.nvidia.com", "uid-1");
  EXPECT_EQ(sockets.registration,
            "/var/lib/kubelet/plugins_registry/gpu.nvidia.com-uid-1-reg.sock");
  EXPECT_EQ(sockets.service, "/var/lib/kubelet/plugins/gpu.nvidia.com/dra-uid-1.sock");
}

TEST(SocketsTest, AUidThatIsTooLongIsShortened) {
  const std::string dir(49, 'd');
  const std::string uid = "b0e1a1de-1f5c-4f3e-9c0a-0123456789ab";
  const std::string path = SocketsOf(dir, "gpu.nvidia.com", uid).registration;
  EXPECT_LE(path.size(), kSocketPathMax);
  EXPECT_THAT(path, ::testing::Not(HasSubstr(uid)));
  EXPECT_NE(path, SocketsOf(dir, "gpu.nvidia.com", uid + "0").registration);
}

TEST(SocketsTest, APathThatIsTooLongIsRefused) {
  EXPECT_EQ(FreeSocketPath(std::string(108, 'x')).error().code, Code::kInvalid);
}

}  // namespace
}  // namespace drachma::rpc
