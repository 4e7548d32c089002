// Keeps tests out of a run at another date (`./culvert-tool test --date`) that compare the clock of the process with the kernel's,
// or with that of a program that such a run does not reach.

/** True in such a run. */
const IS_ELSEWHEN = process.env.CULVERT_TEST_DATE !== undefined;

/** For the option `skip` of a test. @param reason why the test needs the machine's own clock */
export function machineClock(reason: string): string | false {
  return IS_ELSEWHEN && `at another date: ${reason}`;
}
