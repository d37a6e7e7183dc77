#include "cli/convert_command.h"

#include <algorithm>
#include <utility>

#include "cli/files.h"
#include "json/json.h"
#include "lint/check.h"
#include "lint/convert.h"

namespace drachma::cli {
namespace {

json::Value ToJson(const std::vector<lint::ConvertedFile>& files) {
  json::Value findings = json::Value::Array();
  json::Value texts = json::Value::Array();
  for (const lint::ConvertedFile& file : files) {
    for (const lint::Finding& finding : file.findings) findings.Append(lint::ToJson(finding));
    texts.Append(json::Value::Object({{"file", file.name}, {"converted", file.text}}));
  }
  return json::Value::Object({{"findings", std::move(findings)}, {"files", std::move(texts)}});
}

bool HasErrors(const lint::ConvertedFile& file) {
  return std::ranges::any_of(file.findings, [](const lint::Finding& finding) {
    return finding.severity == lint::Severity::kError;
  });
}

// The manifests as one stream, so that kubectl applies it.
void PrintTexts(const std::vector<lint::ConvertedFile>& files, std::ostream& out) {
  std::string before;
  for (const lint::ConvertedFile& file : files) {
    if (!file.manifest || file.text.empty()) continue;
    if (!before.empty() && !file.text.starts_with("---")) {
      out << (before.ends_with('\n') ? "---\n" : "\n---\n");
    }
    out << file.text;
    before = file.text;
  }
}

// What was changed in place. ERRORS: of WriteFile.
Status WriteTexts(const std::vector<lint::FileText>& given,
                  const std::vector<lint::ConvertedFile>& files, std::ostream& out) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].text == given[i].text) continue;
    DRA_TRY(WriteFile(files[i].name, files[i].text));
    out << files[i].name << ": converted\n";
  }
  return {};
}

}  // namespace

int RunConvert(const ConvertArguments& arguments, std::ostream& out, std::ostream& error) {
  const Result<std::vector<lint::FileText>> given = ReadManifestTexts(arguments.files);
  if (!given) {
    error << "error: " << given.error().message << "\n";
    return 2;
  }
  const bool piped =
      std::ranges::find(*given, kStandardInput, &lint::FileText::name) != given->end();
  if (piped && arguments.in_place) {
    error << "error: standard input cannot be changed in place\n";
    return 2;
  }
  const bool extended = arguments.to == "extended";
  const std::vector<lint::ConvertedFile> files =
      lint::Convert(*given, {.to = extended ? lint::ConvertTo::kExtended : lint::ConvertTo::kClaims,
                             .driver = arguments.driver,
                             .keep = arguments.keep});
  if (arguments.in_place) {
    if (const Status written = WriteTexts(*given, files, out); !written) {
      error << "error: " << written.error().message << "\n";
      return 2;
    }
  }
  if (arguments.output == "json") {
    out << json::WritePretty(ToJson(files), 2) << "\n";
  } else {
    if (!arguments.in_place) PrintTexts(files, out);
    for (const lint::ConvertedFile& file : files) {
      for (const lint::Finding& finding : file.findings) error << lint::FormatFinding(finding);
    }
  }
  return std::ranges::any_of(files, HasErrors) ? 1 : 0;
}

}  // namespace drachma::cli
