import {readFile} from 'node:fs/promises';
import {kinds} from '#src/api/kinds/index.js';
import {isConflict} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import type {CertificateSigningRequest} from '#src/api/types.js';
import {systemClock} from '#src/base/clock.js';
import type {Client} from '#src/client/client.js';
import type {certificateFlags} from '#src/options/programs/client.js';
import {oneLine, type Invocation} from '#src/program/program.js';
import {commandClient} from '#src/cli/program/command-client.js';
import {subcommandOf} from '#src/cli/program/subcommand.js';
import {kubeconfig} from '#src/plane/kubeconfig/settings.js';

/** For each verb: the condition to add, the one that must not exist, and the word of the confirmation. */
const conditionTypes = {
  approve: {type: 'Approved', opposite: 'Denied', reason: 'PlatApprove', done: 'approved'},
  deny: {type: 'Denied', opposite: 'Approved', reason: 'PlatDeny', done: 'denied'},
} as const;

export type Verb = keyof typeof conditionTypes;

/** How often an update is retried after a conflict. */
const maxConflicts = 10;

/**
 * Approves or denies a request. One with the condition is left unchanged unless `force`; one with the opposite
 * condition is refused.
 */
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

type CertificateInvocation = Invocation<(typeof certificateFlags)['rows']>;

/** `plat certificate`: decides about requests, explains them, or requests a certificate. Returns the exit code. */
export const runCertificate = (invocation: CertificateInvocation): Promise<number> => {
  const [command, ...names] = invocation.parsed.args;
  return subcommandOf(commands, command)(invocation, names);
};

/** Calls `act` for each name, and continues after a failure, which is printed. */
const forEach = async (
  {parsed: {options}, version}: CertificateInvocation,
  names: readonly string[],
  act: (client: Client, name: string) => Promise<void>,
): Promise<number> => {
  if (names.length === 0) throw new Error('one or more certificate signing requests must be named');
  await using connection = await commandClient(options, version);
  let failed = false;
  for (const name of names) {
    try {
      await act(connection.client, name);
    } catch (error) {
      failed = true;
      process.stderr.write(`plat certificate: ${oneLine(error)}\n`);
    }
  }
  return failed ? 1 : 0;
};

/** Approves or denies each named request, and prints each. */
const decide =
  (verb: Verb) =>
  (invocation: CertificateInvocation, names: readonly string[]): Promise<number> =>
    forEach(invocation, names, async (client, name) => {
      await setApproval(client, verb, name, {force: invocation.parsed.options.force, now: systemClock.now()});
      const subject = `${kinds.certificateSigningRequests.singular}.${client.naming.group('certificates')}`;
      invocation.print(`${subject}/${name} ${conditionTypes[verb].done}`);
    });

/** Prints the state of each named request, and what to do. */
const explain = (invocation: CertificateInvocation, names: readonly string[]): Promise<number> =>
  forEach(invocation, names, async (client, name) => {
    const csr = await client.resource(kinds.certificateSigningRequests).get(name);
    for (const line of await explanationOf(client, csr)) invocation.print(`${name}: ${line}`);
  });

const explanationOf = async (client: Client, csr: CertificateSigningRequest): Promise<string[]> =>
  (await import('#src/why/certificates/request.js')).explanationOf(client, csr, systemClock.now());

/** Requests a certificate for a new key, waits for it, and prints a kubeconfig with both. */
const request = async ({parsed: {options}, print, version, stopping}: CertificateInvocation, names: readonly string[]): Promise<number> => {
  const [name, more] = names;
  if (name === undefined || more !== undefined) throw new Error('request needs one name');
  if (!options.user) throw new Error('request needs --user, the user that the certificate authenticates');
  await using connection = await commandClient(options, version);
  const {client, server, ca} = connection;
  const signerName = options.signer || client.naming.signers.apiserverClient;
  const {createRequest, settledRequest} = await import('./request.js');
  const key = await createRequest(client, {name, user: options.user, groups: options.groups, signerName, durationMs: options.duration});
  if (options.approve) await setApproval(client, 'approve', name, {now: systemClock.now()});
  const csr = await settledRequest(client, name, {clock: systemClock, timeoutMs: options.timeout, signal: stopping});
  if (!csr.status?.certificate) {
    for (const line of await explanationOf(client, csr)) process.stderr.write(`plat certificate: ${name}: ${line}\n`);
    return 1;
  }
  const certificate = Buffer.from(csr.status.certificate, 'base64').toString();
  const authority = ca === undefined ? '' : 'data' in ca ? ca.data : await readFile(ca.file, 'utf8');
  print(kubeconfig({server, ca: authority, certificate, key}).trimEnd());
  return 0;
};

const commands = {approve: decide('approve'), deny: decide('deny'), explain, request};
