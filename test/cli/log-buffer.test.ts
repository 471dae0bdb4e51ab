import {spawnSync} from 'node:child_process';
import test from 'ava';

/** A program with the flags of logs, which logs a line, waits so long, and ends. */
const program = (waitMs: number): string => `
  import {runProgram} from '#src/program/program.js';
  import {schedulerFlags} from '#src/options/programs/scheduler.js';
  await runProgram(schedulerFlags, process.argv.slice(1), async ({log, clock, stopping, print}) => {
    log.info('of the log');
    await new Promise(resolve => clock.schedule(${waitMs}, resolve));
    print('printed');
    process.kill(process.pid, 'SIGTERM');
    await new Promise(resolve => stopping.addEventListener('abort', resolve));
  });`;

/** Returns the lines of standard output, without the head of a log line. */
const printed = (waitMs: number, ...flags: readonly string[]): readonly string[] => {
  const args = ['--feature-gates=LoggingAlphaOptions=true', '--log-text-split-stream', ...flags];
  const {stdout, stderr} = spawnSync(process.execPath, ['--input-type=module', '-e', program(waitMs), '--', ...args], {encoding: 'utf8'});
  return [...stdout.trimEnd().split('\n'), ...(stderr ? [stderr] : [])].map(line => line.replace(/^I.*\] /, ''));
};

const logged = '"of the log"';

test('--log-text-info-buffer-size keeps lines until the buffer is full or the program is stopped', t => {
  t.deepEqual(printed(0, '--log-text-info-buffer-size=1Ki', '--log-flush-frequency=1h'), ['printed', logged]);
  t.deepEqual(printed(0, '--log-text-info-buffer-size=10', '--log-flush-frequency=1h'), [logged, 'printed']);
});

test('--log-flush-frequency ends the wait of lines in a buffer that is not full, and 0 leaves out the buffer', t => {
  t.deepEqual(printed(50, '--log-text-info-buffer-size=1Ki', '--log-flush-frequency=10ms'), [logged, 'printed']);
  t.deepEqual(printed(0, '--log-text-info-buffer-size=1Ki', '--log-flush-frequency=0'), [logged, 'printed']);
});
