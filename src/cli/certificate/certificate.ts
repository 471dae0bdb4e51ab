import {kinds} from '#src/api/kinds/index.js';
import {isConflict} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import type {CertificateSigningRequest} from '#src/api/types.js';
import {systemClock} from '#src/base/clock.js';
import type {Client} from '#src/client/client.js';
import type {certificateFlags} from '#src/options/programs/client.js';
import {oneLine, type Invocation} from '#src/cli/program/program.js';
import {commandClient} from '#src/cli/program/command-client.js';

/** For each verb: the condition to add, the one that must not exist, and the word of the confirmation. */
const conditionTypes = {
  approve: {type: 'Approved', opposite: 'Denied', reason: 'PlatApprove', done: 'approved'},
  deny: {type: 'Denied', opposite: 'Approved', reason: 'PlatDeny', done: 'denied'},
} as const;

export type Verb = keyof typeof conditionTypes;

/** How often an update is retried after a conflict. */
const maxConflicts = 10;

/** Approves or denies a request. One with the condition is left unchanged unless `force`; one with the opposite condition is refused. */
export const setApproval = async (
  client: Client,
  verb: Verb,
  name: string,
  {force = false, now}: {readonly force?: boolean; readonly now: number},
): Promise<void> => {
  const requests = client.resource(kinds.certificateSigningRequests);
  for (let conflicts = 0; ; conflicts++) {
    const csr = await requests.get(name);
    const updated = withCondition(csr, verb, now);
    if (updated === csr && !force) return;
    try {
      await requests.update(updated, {subresource: 'approval'});
      return;
    } catch (error) {
      if (!isConflict(error) || conflicts === maxConflicts) throw error;
    }
  }
};

/** The request with the condition; the same object if it already has it. */
const withCondition = (csr: CertificateSigningRequest, verb: Verb, now: number): CertificateSigningRequest => {
  const {type, opposite, reason, done} = conditionTypes[verb];
  const conditions = csr.status?.conditions ?? [];
  if (conditions.some(condition => condition.type === opposite)) {
    throw new Error(`certificate signing request "${csr.metadata?.name ?? ''}" is already ${opposite}`);
  }
  if (conditions.some(condition => condition.type === type)) return csr;
  const condition = {
    type,
    status: 'True',
    reason,
    message: `This CSR was ${done} by plat certificate ${verb}.`,
    lastUpdateTime: wireTime(now),
  };
  return {...csr, status: {...csr.status, conditions: [...conditions, condition]}};
};

/** `plat certificate`: approves or denies each named request, prints each, and continues after a failure. */
export const runCertificate = async ({
  parsed: {options, args},
  print,
  version,
}: Invocation<(typeof certificateFlags)['rows']>): Promise<number> => {
  const [verb, ...names] = args;
  if (verb !== 'approve' && verb !== 'deny')
    throw new Error(`the first argument must be approve or deny${verb ? `, not ${JSON.stringify(verb)}` : ''}`);
  if (names.length === 0) throw new Error('one or more certificate signing requests must be named');

  await using connection = await commandClient(options, version);
  const {client} = connection;
  const {naming} = client;
  const subject = `${kinds.certificateSigningRequests.singular}.${naming.group('certificates')}`;
  let failed = false;
  for (const name of names) {
    try {
      await setApproval(client, verb, name, {force: options.force, now: systemClock.now()});
      print(`${subject}/${name} ${conditionTypes[verb].done}`);
    } catch (error) {
      failed = true;
      process.stderr.write(`plat certificate: ${oneLine(error)}\n`);
    }
  }
  return failed ? 1 : 0;
};
