#include "cli/check_command.h"

#include <algorithm>

#include "cli/files.h"
#include "cluster/manifests.h"
#include "json/json.h"
#include "json/yaml.h"
#include "lint/check.h"
#include "lint/parameters.h"

namespace drachma::cli {
namespace {

json::Value ToJson(const std::vector<lint::CheckedFile>& files) {
  json::Value findings = json::Value::Array();
  for (const lint::CheckedFile& file : files) {
    for (const lint::Finding& finding : file.findings) findings.Append(lint::ToJson(finding));
  }
  return json::Value::Object({{"findings", std::move(findings)}});
}

bool HasErrors(const lint::CheckedFile& file) {
  return std::ranges::any_of(file.findings, [](const lint::Finding& finding) {
    return finding.severity == lint::Severity::kError;
  });
}

// The findings whose corrections could not be written.
void PrintNotCorrected(const lint::CheckedFile& file, std::ostream& out) {
  for (const lint::CheckedFile::Left& left : file.left) {
    const lint::Finding& finding = left.finding;
    out << finding.file << ":" << finding.line << ":" << finding.column
        << ": not corrected: " << left.reason << " [" << finding.rule << "]\n";
  }
}

// What the corrections leave, be it that they brought it to light.
void PrintLeft(const lint::CheckedFile& file, const lint::RuleContext& context, std::ostream& out) {
  std::string left;
  for (const lint::Finding& finding :
       lint::CheckText(file.name, file.corrected, context).findings) {
    if (finding.severity == lint::Severity::kError) left += lint::FormatFinding(finding);
  }
  if (!left.empty()) out << "# left for you, with the lines of the corrected text:\n" << left;
}

// Findings as lines, then the corrected text of each file that has one.
void Print(const std::vector<lint::CheckedFile>& files, const std::vector<lint::FileText>& input,
           bool fix, const lint::RuleContext& context, std::ostream& out) {
  std::size_t count = 0;
  for (const lint::CheckedFile& file : files) {
    for (const lint::Finding& finding : file.findings) out << lint::FormatFinding(finding);
    count += file.findings.size();
  }
  if (count == 0) out << "no findings\n";
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].corrected == input[i].text) {
      PrintNotCorrected(files[i], out);
      continue;
    }
    if (fix) {
      out << files[i].name << ": corrected\n";
    } else {
      out << "\n# corrected (drachma check --fix writes it):\n" << files[i].corrected;
    }
    PrintNotCorrected(files[i], out);
    PrintLeft(files[i], context, out);
  }
}

// Writes the corrected files; that of standard input goes to `out`, corrected or not, so that a
// pipe goes on.
Status WriteCorrected(const std::vector<lint::CheckedFile>& files,
                      const std::vector<lint::FileText>& input, std::ostream& out) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (input[i].name == kStandardInput) {
      out << files[i].corrected;
    } else if (files[i].corrected != input[i].text) {
      DRA_TRY(WriteFile(input[i].name, files[i].corrected));
    }
  }
  return {};
}

}  // namespace

int RunCheck(const CheckArguments& arguments, std::ostream& out, std::ostream& error) {
  const Result<std::vector<lint::FileText>> input = ReadManifestTexts(arguments.files);
  if (!input) {
    error << "error: " << input.error().message << "\n";
    return 2;
  }
  std::vector<std::string_view> texts;
  for (const lint::FileText& file : *input) texts.emplace_back(file.text);
  const lint::RuleContext context = lint::ContextOf(arguments.driver, texts);
  std::vector<lint::CheckedFile> files;
  for (const lint::FileText& file : *input) {
    files.push_back(lint::CheckText(file.name, file.text, context));
  }
  std::vector<std::string_view> corrected;
  for (const lint::CheckedFile& file : files) corrected.emplace_back(file.corrected);
  const lint::RuleContext afterwards = lint::ContextOf(arguments.driver, corrected);
  if (arguments.fix) {
    if (const Status written = WriteCorrected(files, *input, out); !written) {
      error << "error: " << written.error().message << "\n";
      return 2;
    }
  }
  const bool filters = arguments.fix && std::ranges::find(*input, kStandardInput,
                                                          &lint::FileText::name) != input->end();
  std::ostream& report = filters ? error : out;
  if (arguments.output == "json") {
    report << json::WritePretty(ToJson(files), 2) << "\n";
  } else if (arguments.output == "yaml") {
    report << json::WriteYaml(ToJson(files));
  } else {
    Print(files, *input, arguments.fix, afterwards, report);
  }
  // With `fix` the files are as corrected now: what could not be mended counts.
  const bool errors = std::ranges::any_of(files, [&](const lint::CheckedFile& file) {
    return HasErrors(arguments.fix ? lint::CheckText("", file.corrected, afterwards) : file);
  });
  return errors ? 1 : 0;
}

}  // namespace drachma::cli
