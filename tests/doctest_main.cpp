// Runs the cases that the arguments ask for, and fails where there are none: a test of one file out
// of several (--source-file) must not pass because the file has another name.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <iostream>

namespace {

unsigned cases = 0;

class CountCases : public doctest::IReporter {
 public:
  explicit CountCases(const doctest::ContextOptions&) {}
  void test_run_end(const doctest::TestRunStats& run) override {
    cases = run.numTestCasesPassingFilters;
  }
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};
REGISTER_LISTENER("count-cases", 1, CountCases);

}  // namespace

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  const int code = context.run();
  if (code != 0 || context.shouldExit() || cases > 0) return code;
  std::cerr << "no test case is what the arguments ask for\n";
  return 1;
}
