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

struct Input {
  std::vector<std::string> paths;
  std::vector<std::string> texts;
};

// The files of `arguments`, folders opened. ERRORS: of ReadFile; kBadRequest: a folder without any.
Result<Input> ReadInput(const CheckArguments& arguments) {
  Input input;
  for (const std::string& argument : arguments.files) {
    const std::vector<std::string> paths = cluster::FilesOf(argument);
    if (paths.empty()) return BadInput(argument + ": holds no .yaml, .yml or .json file");
    for (const std::string& path : paths) {
      DRA_ASSIGN(std::string text, ReadFile(path));
      input.paths.push_back(path);
      input.texts.push_back(std::move(text));
    }
  }
  return input;
}

// Findings as lines, then the corrected text of each file that has one.
void Print(const std::vector<lint::CheckedFile>& files, const Input& input, bool fix,
           const lint::RuleContext& context, std::ostream& out) {
  std::size_t count = 0;
  for (const lint::CheckedFile& file : files) {
    for (const lint::Finding& finding : file.findings) out << lint::FormatFinding(finding);
    count += file.findings.size();
  }
  if (count == 0) out << "no findings\n";
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].corrected == input.texts[i]) {
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
Status WriteCorrected(const std::vector<lint::CheckedFile>& files, const Input& input,
                      std::ostream& out) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (input.paths[i] == "-") {
      out << files[i].corrected;
    } else if (files[i].corrected != input.texts[i]) {
      DRA_TRY(WriteFile(input.paths[i], files[i].corrected));
    }
  }
  return {};
}

}  // namespace

int RunCheck(const CheckArguments& arguments, std::ostream& out, std::ostream& error) {
  const Result<Input> input = ReadInput(arguments);
  if (!input) {
    error << "error: " << input.error().message << "\n";
    return 2;
  }
  const std::vector<std::string_view> texts(input->texts.begin(), input->texts.end());
  const lint::RuleContext context = lint::ContextOf(arguments.driver, texts);
  std::vector<lint::CheckedFile> files;
  for (std::size_t i = 0; i < input->paths.size(); ++i) {
    const std::string& path = input->paths[i];
    files.push_back(lint::CheckText(path == "-" ? "<stdin>" : path, input->texts[i], context));
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
  const bool filters = arguments.fix && std::ranges::find(input->paths, "-") != input->paths.end();
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
