#include "apiserver/render.h"

#include <fmt/format.h>

#include <utility>

#include "apiserver/human.h"
#include "apiserver/objects.h"
#include "apiserver/printers.h"
#include "json/json.h"
#include "json/part.h"
#include "json/yaml.h"

namespace drachma::apiserver {
namespace {

using As = Accepted::As;

constexpr int kIndent = 2;

std::string MetaApiVersion(std::string_view meta_version) {
  return fmt::format("meta.k8s.io/{}", meta_version);
}

bool IsPlainJson(const Accepted& accepted) {
  return accepted.media == Accepted::Media::kJson && accepted.pretty == Accepted::Pretty::kNo;
}

// A list whose items are the texts of records, not copied: half of the time goes by without this
// thread.
Result<std::vector<net::Slice>> ListText(const Answer& answer) {
  const Kind& kind = *answer.kind;
  const Answer::List& list = *answer.list;
  const std::string api_version = kind.ApiVersion(answer.version);
  // Built-in lists leave these out of their items.
  const std::string prefix =
      fmt::format(R"({{"kind":"{}","apiVersion":"{}",)", kind.info().kind, api_version);
  std::vector<net::Slice> text = {
      net::Share(fmt::format(R"({{"kind":"{}","apiVersion":"{}","metadata":{},"items":[)",
                             kind.info().list_kind, api_version, json::Write(ListMetaOf(list))))};
  text.reserve(2 + 2 * list.records.size());
  const bool stored = kind.storage_api_version() == api_version;
  for (const store::RecordPtr& record : list.records) {
    net::SharedBytes item;
    if (stored) {
      item = record->Json();
    } else {
      DRA_ASSIGN(const json::Value converted, kind.Convert(record->ObjectOnce(), api_version));
      item = net::Share(json::Write(converted));
    }
    const bool shorter = item->size() > prefix.size() && item->starts_with(prefix);
    std::string_view begin = shorter ? ",{" : ",";
    if (text.size() == 1) begin.remove_prefix(1);
    text.push_back(net::Slice::OfStatic(begin));
    text.emplace_back(std::move(item), shorter ? prefix.size() : 0);
  }
  text.push_back(net::Slice::OfStatic("]}\n"));
  return text;
}

json::Value PartialList(const Answer& answer, std::string_view meta_version) {
  json::Value items = json::Value::Array();
  for (const store::RecordPtr& record : answer.list->records) {
    items.Append(PartialMetadataOf(record->ObjectOnce(), meta_version));
  }
  return json::Value::Object({{"kind", "PartialObjectMetadataList"},
                              {"apiVersion", MetaApiVersion(meta_version)},
                              {"metadata", ListMetaOf(*answer.list)},
                              {"items", std::move(items)}});
}

json::Value Table(const Answer& answer, const Rendering& rendering) {
  std::vector<json::Value> rows;
  json::Value meta;
  if (answer.list) {
    for (const store::RecordPtr& record : answer.list->records) {
      rows.push_back(RowOf(*answer.kind, answer.version, record->Object(), rendering));
    }
    meta = ListMetaOf(*answer.list);
  } else {
    rows.push_back(RowOf(*answer.kind, answer.version, answer.Object(), rendering));
    meta = json::Value::Object(
        {{"resourceVersion", answer.Object()["metadata"]["resourceVersion"].AsString()}});
  }
  return TableOf(*answer.kind, answer.version, std::move(rows), std::move(meta),
                 rendering.accepted.meta_version, Columns::kYes);
}

// A row without its object.
json::Value CellsOf(const Kind& kind, std::string_view version, const json::Value& object,
                    Ages& ages) {
  json::Value row = json::Value::Object({{"cells", kind.Cells(object, version, ages)}});
  json::Value conditions = RowConditions(kind.group(), kind.info().kind, object);
  if (conditions.IsArray()) row.Set("conditions", std::move(conditions));
  return row;
}

// The object for the cells of a built-in kind, which never show managed fields: half of the text
// need not be read. `scratch` is memory to work in.
json::Value ObjectForCells(const std::string& text, std::string_view managed,
                           std::string& scratch) {
  if (managed.empty()) return json::Read(text).value_or(json::Value());
  const auto begin = static_cast<std::size_t>(managed.data() - text.data());
  scratch.assign(text, 0, begin);
  scratch += "null";
  scratch.append(text, begin + managed.size());
  return json::Read(scratch).value_or(json::Value());
}

// The row of an object as it is now.
TableRows::Row MakeRow(const Kind& kind, std::string_view version, bool built_in,
                       const store::Record& record, Time now, std::string& scratch) {
  const std::shared_ptr<const std::string> text = record.Json();
  const json::NestedText metadata = json::FindNested(*text, "metadata", "managedFields");
  const json::Value shown =
      built_in ? ObjectForCells(*text, metadata.inner, scratch) : record.ObjectOnce();
  Ages ages(now);
  std::string cells = json::Write(CellsOf(kind, version, shown, ages));
  cells.pop_back();  // the row goes on
  return {.revision = record.revision,
          .from = now,
          .until = ages.until(),
          .cells = net::Share(std::move(cells)),
          .metadata_begin = static_cast<std::uint32_t>(
              metadata.outer.empty() ? 0 : metadata.outer.data() - text->data()),
          .metadata_size = static_cast<std::uint32_t>(metadata.outer.size())};
}

// The Table of a list, row by row: the metadata of the objects is that of their records, not
// copied. REQUIRES: whole objects are not asked for.
std::vector<net::Slice> TableText(const Answer& answer, const Rendering& rendering) {
  const Kind& kind = *answer.kind;
  const std::string& meta_version = rendering.accepted.meta_version;
  const bool with_metadata = rendering.include == IncludeObject::kMetadata;
  std::string begin = json::Write(
      TableOf(kind, answer.version, {}, ListMetaOf(*answer.list), meta_version, Columns::kYes));
  begin.resize(begin.size() - 2);  // before the end of the rows
  const net::SharedBytes object = net::Share(
      with_metadata
          ? fmt::format(
                R"(,"object":{{"kind":"PartialObjectMetadata","apiVersion":"{}","metadata":)",
                MetaApiVersion(meta_version))
          : R"(,"object":null)");
  // The columns of custom kinds may change.
  const bool built_in = api::FindResource(kind.group(), kind.plural()) != nullptr;
  std::vector<net::Slice> text = {net::Share(std::move(begin))};
  text.reserve(2 + 4 * answer.list->records.size());
  std::string scratch;
  TableRows::Row made;
  for (const store::RecordPtr& record : answer.list->records) {
    const bool kept = built_in && rendering.rows != nullptr;
    TableRows::Row& row = kept ? rendering.rows->At(record->revision) : made;
    if (row.revision != record->revision || rendering.now < row.from ||
        rendering.now >= row.until) {
      row = MakeRow(kind, answer.version, built_in, *record, rendering.now, scratch);
    }
    if (text.size() > 1) text.push_back(net::Slice::OfStatic(with_metadata ? "}}," : "},"));
    text.emplace_back(row.cells);
    text.emplace_back(object);
    if (with_metadata) text.emplace_back(record->Json(), row.metadata_begin, row.metadata_size);
  }
  std::string_view end = with_metadata ? "}}]}\n" : "}]}\n";
  if (text.size() == 1) end = "]}\n";
  text.push_back(net::Slice::OfStatic(end));
  return text;
}

// The Scale of a workload, which is no kind of its own (printers' printScale).
json::Value ScaleTable(const json::Value& scale, const Rendering& rendering) {
  const auto column = [](std::string_view name, std::string_view type, std::string_view format,
                         std::string_view description) {
    return json::Value::Object({{"name", name},
                                {"type", type},
                                {"format", format},
                                {"description", description},
                                {"priority", 0}});
  };
  Ages ages(rendering.now);
  json::Value cells = json::Value::Array(
      {scale["metadata"]["name"], scale["spec"]["replicas"].AsInt(),
       scale["status"]["replicas"].AsInt(), AgeOf(scale["metadata"]["creationTimestamp"], ages)});
  const std::string& meta_version = rendering.accepted.meta_version;
  json::Value row = json::Value::Object(
      {{"cells", std::move(cells)}, {"object", PartialMetadataOf(scale, meta_version)}});
  return json::Value::Object(
      {{"kind", "Table"},
       {"apiVersion", MetaApiVersion(meta_version)},
       {"metadata", json::Value::Object(
                        {{"resourceVersion", scale["metadata"]["resourceVersion"].AsString()}})},
       {"columnDefinitions",
        json::Value::Array({column("Name", "string", "name", "Name of the workload"),
                            column("Desired", "integer", "", "Replicas that are asked for"),
                            column("Available", "integer", "", "Replicas that there are"),
                            column("Age", "string", "", "When the workload was created")})},
       {"rows", json::Value::Array({std::move(row)})}});
}

// Metadata of one object is no answer to a request for a list, and the other way round (upstream's
// asPartialObjectMetadata). The types in the text are upstream's internal ones.
Status CheckForm(const Answer& answer, Accepted::Form form) {
  const bool is_list = answer.list.has_value();
  if (is_list == (form == Accepted::Form::kList)) return {};
  const std::string group(answer.kind->group().substr(0, answer.kind->group().find('.')));
  const bool core = group.empty() || group == "events";
  const bool custom = api::FindResource(answer.kind->group(), answer.kind->plural()) == nullptr;
  const std::string type =
      custom ? "unstructured.Unstructured"
             : fmt::format("{}.{}", core ? "core" : group, answer.kind->info().kind);
  return Fail(Code::kNotAcceptable,
              is_list ? fmt::format("you requested PartialObjectMetadata, but the requested object "
                                    "is a list (*{}List)",
                                    type)
                      : fmt::format("you requested PartialObjectMetadataList, but the requested "
                                    "object is not a list (*{})",
                                    type));
}

Result<json::Value> ValueOf(const Answer& answer, const Rendering& rendering) {
  const std::string& meta_version = rendering.accepted.meta_version;
  if (answer.kind != nullptr && rendering.accepted.as == As::kTable) {
    return Table(answer, rendering);
  }
  if (rendering.accepted.as == As::kTable && answer.Object()["kind"].AsString() == "Scale") {
    return ScaleTable(answer.Object(), rendering);
  }
  if (answer.kind != nullptr && rendering.accepted.as == As::kPartialMetadata) {
    DRA_TRY(CheckForm(answer, rendering.accepted.form));
    return answer.list ? PartialList(answer, meta_version)
                       : PartialMetadataOf(answer.Object(), meta_version);
  }
  DRA_ASSIGN(json::Value value, ObjectOf(answer));
  if (!answer.list) return value;
  json::Value items = json::Value::Array();
  for (const json::Value& item : value["items"].Items()) {
    json::Value bare = item;
    bare.Erase("kind");
    bare.Erase("apiVersion");
    items.Append(std::move(bare));
  }
  value.Set("items", std::move(items));
  return value;
}

}  // namespace

json::Value PartialMetadataOf(const json::Value& object, std::string_view meta_version) {
  return json::Value::Object({{"kind", "PartialObjectMetadata"},
                              {"apiVersion", MetaApiVersion(meta_version)},
                              {"metadata", object["metadata"]}});
}

json::Value RowOf(const Kind& kind, std::string_view version, const json::Value& object,
                  const Rendering& rendering) {
  Ages ages(rendering.now);
  json::Value row = CellsOf(kind, version, object, ages);
  switch (rendering.include) {
    case IncludeObject::kMetadata:
      row.Set("object", PartialMetadataOf(object, rendering.accepted.meta_version));
      break;
    case IncludeObject::kObject:
      row.Set("object", kind.Convert(object, kind.ApiVersion(version)).value_or(object));
      break;
    case IncludeObject::kNone:
      row.Set("object", json::Value());
      break;
  }
  return row;
}

json::Value TableOf(const Kind& kind, std::string_view version, std::vector<json::Value> rows,
                    json::Value meta, std::string_view meta_version, Columns columns) {
  json::Value definitions;
  if (columns == Columns::kYes) {
    definitions = json::Value::Array();
    for (const api::ColumnInfo& column : kind.Columns(version)) {
      definitions.Append(json::Value::Object({{"name", column.name},
                                              {"type", column.type},
                                              {"format", column.format},
                                              {"description", column.description},
                                              {"priority", column.priority}}));
    }
  }
  return json::Value::Object({{"kind", "Table"},
                              {"apiVersion", MetaApiVersion(meta_version)},
                              {"metadata", std::move(meta)},
                              {"columnDefinitions", std::move(definitions)},
                              {"rows", json::Value::Array(std::move(rows))}});
}

std::string_view ContentTypeOf(const Accepted& accepted) {
  return accepted.media == Accepted::Media::kYaml ? "application/yaml" : "application/json";
}

std::string Encode(const json::Value& value, const Accepted& accepted) {
  if (accepted.media == Accepted::Media::kYaml) return json::WriteYaml(value);
  if (accepted.pretty == Accepted::Pretty::kYes) return json::WritePretty(value, kIndent);
  std::string text;
  json::WriteTo(value, text);
  text += '\n';
  return text;
}

Result<std::vector<net::Slice>> Render(const Answer& answer, const Rendering& rendering) {
  const bool object = answer.kind != nullptr && rendering.accepted.as == As::kObject &&
                      IsPlainJson(rendering.accepted);
  if (object && answer.list) return ListText(answer);
  if (answer.kind != nullptr && answer.list && rendering.accepted.as == As::kTable &&
      rendering.include != IncludeObject::kObject && IsPlainJson(rendering.accepted)) {
    return TableText(answer, rendering);
  }
  if (object && answer.record != nullptr &&
      answer.kind->storage_api_version() == answer.kind->ApiVersion(answer.version)) {
    return std::vector<net::Slice>{answer.record->Json(), net::Slice::OfStatic("\n")};
  }
  DRA_ASSIGN(const json::Value value, ValueOf(answer, rendering));
  return std::vector<net::Slice>{net::Share(Encode(value, rendering.accepted))};
}

}  // namespace drachma::apiserver
