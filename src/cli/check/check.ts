import {text as textOfStream} from 'node:stream/consumers';
import {systemClock} from '#src/base/clock.js';
import {check, type CheckResult} from '#src/check/check.js';
import {readManifests} from '#src/check/files/read.js';
import {sarifReport} from '#src/check/report/sarif.js';
import {jsonReport, textReport} from '#src/check/report/text.js';
import type {checkFlags} from '#src/options/programs/questions/check.js';
import {oneLine, type Invocation} from '#src/program/program.js';
import {commandClient} from '#src/cli/program/command-client.js';

type CheckInvocation = Invocation<(typeof checkFlags)['rows']>;

/** Its exit codes: CI tells findings from a check that did not take place. */
const exits = {nothing: 0, findings: 1, notChecked: 2} as const;

/**
 * `plat check`: says what would happen if files were applied. Returns 1 if something was found, 2 if it could not look.
 */
export const runCheck = async (invocation: CheckInvocation): Promise<number> => {
  const {
    parsed: {options},
    print,
    version: {gitVersion},
  } = invocation;
  try {
    const result = await checked(invocation);
    if (options.output === 'text') for (const line of textReport(result)) print(line);
    else print(JSON.stringify(options.output === 'sarif' ? sarifReport(result, gitVersion) : jsonReport(result), undefined, 2));
    const {error, warning} = result.findings.counts;
    return error > 0 || (options.failOn === 'warning' && warning > 0) ? exits.findings : exits.nothing;
  } catch (error) {
    process.stderr.write(`plat check: ${oneLine(error)}\n`);
    return exits.notChecked;
  }
};

const checked = async ({parsed: {options, args}, version}: CheckInvocation): Promise<CheckResult> => {
  if (args.length === 0) throw new Error('no files are named: give files, directories, or - for standard input');
  const manifests = await readManifests(args, {recursive: options.recursive, stdin: () => textOfStream(process.stdin)});
  await using connection = await commandClient(options, version);
  return await check(connection.client, manifests, {
    clock: systemClock,
    namespace: options.namespace || connection.namespace || 'default',
    fieldManager: options.fieldManager,
  });
};
