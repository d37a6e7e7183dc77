#include "cli/check_command.h"

#include <algorithm>

#include "cli/files.h"
#include "json/json.h"
#include "json/yaml.h"
#include "lint/check.h"

namespace drachma::cli {
namespace {

json::Value ToJson(const std::vector<lint::CheckedFile>& files) {
  json::Value findings = json::Value::Array();
  for (const lint::CheckedFile& file : files) {
    for (const lint::Finding& finding : file.findings) {
      findings.Append(json::Value::Object({{"file", finding.file},
                                           {"line", finding.line},
                                           {"column", finding.column},
                                           {"rule", finding.rule},
                                           {"severity", lint::SeverityName(finding.severity)},
                                           {"message", finding.message},
                                           {"fix", finding.fix}}));
    }
  }
  return json::Value::Object({{"findings", std::move(findings)}});
}

bool HasErrors(const lint::CheckedFile& file) {
  return std::ranges::any_of(file.findings, [](const lint::Finding& finding) {
    return finding.severity == lint::Severity::kError;
  });
}

// What the corrections leave, be it that they brought it to light.
void PrintLeft(const lint::CheckedFile& file, const std::string& driver, std::ostream& out) {
  std::string left;
  for (const lint::Finding& finding :
       lint::CheckText(file.name, file.corrected, {.driver = driver}).findings) {
    if (finding.severity == lint::Severity::kError) left += lint::FormatFinding(finding);
  }
  if (!left.empty()) out << "# left for you, with the lines of the corrected text:\n" << left;
}

// Findings as lines, then the corrected text of each file that has one.
void Print(const std::vector<lint::CheckedFile>& files, const std::vector<std::string>& texts,
           const CheckArguments& arguments, std::ostream& out) {
  std::size_t count = 0;
  for (const lint::CheckedFile& file : files) {
    for (const lint::Finding& finding : file.findings) out << lint::FormatFinding(finding);
    count += file.findings.size();
  }
  if (count == 0) out << "no findings\n";
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].corrected == texts[i]) continue;
    if (arguments.fix) {
      out << files[i].name << ": corrected\n";
    } else {
      out << "\n# corrected (drachma check --fix writes it):\n" << files[i].corrected;
    }
    PrintLeft(files[i], arguments.driver, out);
  }
}

}  // namespace

int RunCheck(const CheckArguments& arguments, std::ostream& out, std::ostream& error) {
  std::vector<lint::CheckedFile> files;
  std::vector<std::string> texts;
  for (const std::string& path : arguments.files) {
    const Result<std::string> text = ReadFile(path);
    if (!text) {
      error << "error: " << text.error().message << "\n";
      return 2;
    }
    files.push_back(
        lint::CheckText(path == "-" ? "<stdin>" : path, *text, {.driver = arguments.driver}));
    texts.push_back(*text);
  }
  for (std::size_t i = 0; arguments.fix && i < files.size(); ++i) {
    if (arguments.files[i] == "-" || files[i].corrected == texts[i]) continue;
    if (const Status written = WriteFile(arguments.files[i], files[i].corrected); !written) {
      error << "error: " << written.error().message << "\n";
      return 2;
    }
  }
  if (arguments.output == "json") {
    out << json::WritePretty(ToJson(files), 2) << "\n";
  } else if (arguments.output == "yaml") {
    out << json::WriteYaml(ToJson(files));
  } else {
    Print(files, texts, arguments, out);
  }
  // With `fix` the files are as corrected now: what could not be mended counts.
  const bool errors = std::ranges::any_of(files, [&](const lint::CheckedFile& file) {
    return HasErrors(
        arguments.fix ? lint::CheckText("", file.corrected, {.driver = arguments.driver}) : file);
  });
  return errors ? 1 : 0;
}

}  // namespace drachma::cli
