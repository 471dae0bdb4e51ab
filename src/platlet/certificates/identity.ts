// How an agent authenticates as the user of its node: with an existing kubeconfig, or with a bootstrap kubeconfig and a
// certificate that it requests.

import type {Naming} from '#src/api/naming.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {Meter} from '#src/base/meter.js';
import {jittered, type Random} from '#src/base/random.js';
import {Undo} from '#src/base/undo.js';
import type {Client} from '#src/client/client.js';
import {formatGoTime} from '#src/pki/encoding/times.js';
import {parseKeyPair, type KeyPairPem} from '#src/pki/key-pair.js';
import type {Host} from '#src/platlet/host/host.js';
import type {RenewableConnection} from '#src/transport/client/http-connection.js';
import {loadSettings} from '#src/transport/kubeconfig/load-settings.js';
import type {ClientIdentity, ConnectionSettings} from '#src/transport/settings.js';
import {readMaterial} from '#src/transport/tls-material.js';
import {requestFirstCertificate} from './first-certificate.js';
import {AgentCertificate} from './certificate.js';
import {clientRenewals, observeLifetime} from './metrics.js';
import {PairStore, type StoredPair} from './pair-store.js';
import {CertificateRequester, type CertificateSigner} from './requester.js';
import {CertificateRotation} from './rotation.js';
import {settingsText} from './settings-file.js';
import {clientTemplate} from './template.js';
import {untilWithoutCertificate} from './without-certificate.js';

/** A connection to the API server of an agent. */
export interface IdentityConnection extends AsyncDisposable, Pick<RenewableConnection, 'useCertificate'> {
  readonly naming: Naming;
  client(part: string): Client;
}

export interface IdentityParts<C> {
  readonly nodeName: string;
  /** The kubeconfig of the node. */
  readonly settingsFile: string;
  /** The bootstrap kubeconfig; empty if there is none. */
  readonly bootstrapFile: string;
  /** The certificate directory. */
  readonly folder: string;
  /** Whether certificates are rotated. */
  readonly rotates: boolean;
  /** Connects to a server, which may not be up yet. `naming`: the naming of the server, if known. */
  open(settings: ConnectionSettings, naming?: Naming): Promise<C>;
  readonly files: Pick<Files, 'read' | 'write'>;
  readonly host: Pick<Host, 'link' | 'linkStatus' | 'rename' | 'removeFile'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly signal: AbortSignal;
}

/** The identity of an agent. */
export interface OpenedIdentity<C> extends AsyncDisposable {
  readonly connection: C;
  /** Rejects when the agent has lost its identity and has to exit. */
  readonly lost: Promise<never>;
}

const never = new Promise<never>(() => {});

/**
 * Connects an agent to its API server as the user of its node. With rotation, the first requests may be sent without a
 * certificate and be refused: the agent works without the server until it gets one. Without rotation the promise waits
 * for the certificate, and rejects if there is none.
 */
export const openIdentity = async <C extends IdentityConnection>(parts: IdentityParts<C>): Promise<OpenedIdentity<C>> => {
  const {settingsFile, bootstrapFile, rotates, open} = parts;
  const own = bootstrapFile ? await usableSettings(parts) : await loadSettings({file: settingsFile, env: {}});
  if (rotates) return renewedIdentity(parts, own);
  if (!own) await bootstrap(parts);
  const connection = await open(own ?? (await loadSettings({file: settingsFile, env: {}})));
  return {connection, lost: never, [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose]()};
};

const bootstrapSettings = ({bootstrapFile: file}: Pick<IdentityParts<unknown>, 'bootstrapFile'>): Promise<ConnectionSettings> =>
  loadSettings({file, fileFlag: '--bootstrap-kubeconfig', env: {}});

/** Returns the kubeconfig of the node if it has a certificate that has not expired. */
const usableSettings = async ({
  settingsFile,
  files,
  clock,
  log,
}: Pick<IdentityParts<unknown>, 'settingsFile' | 'files' | 'clock' | 'log'>): Promise<ConnectionSettings | undefined> => {
  const text = await files.read(settingsFile).catch((cause: unknown) => {
    throw new Error(`error reading existing bootstrap kubeconfig ${settingsFile}: ${messageOf(cause)}`, {cause});
  });
  if (!text) return undefined;
  try {
    const settings = await loadSettings({file: settingsFile, env: {}});
    const {pair} = await readMaterial(settings);
    if (!pair) throw new Error('there is no client certificate');
    const expired = parseKeyPair(pair.cert, pair.key).chain.find(({notAfter}) => clock.now() > notAfter);
    if (expired) throw new Error(`part of the client certificate is expired: ${formatGoTime(expired.notAfter)}`);
    return settings;
  } catch (error) {
    log.error({file: settingsFile, err: error}, 'failed to use the kubeconfig of the node');
    return undefined;
  }
};

/** Requests a certificate and writes a kubeconfig with it. */
const bootstrap = async <C extends IdentityConnection>(parts: IdentityParts<C>): Promise<void> => {
  const {settingsFile, nodeName, folder, files, host, clock, random, log, signal, open} = parts;
  log.v(2).info('using bootstrap kubeconfig to generate TLS client cert, key and kubeconfig file');
  const settings = await bootstrapSettings(parts);
  await untilServing(parts, settings);
  await using connection = await open(settings);
  const store = new PairStore({files, host, clock, folder, prefix: `${connection.naming.agent}-client`});
  await requestFirstCertificate({
    client: connection.client('bootstrap'),
    nodeName,
    store,
    folder,
    files,
    host,
    clock,
    random,
    log,
    signal,
  });
  await files.write(settingsFile, settingsText(settings, certificateIn(store)), 0o600);
};

const serverMs = 60_000;
const lookMs = 2_000;

/** Waits until the server is up, for at most a minute. */
const untilServing = async <C extends IdentityConnection>(parts: IdentityParts<C>, settings: ConnectionSettings): Promise<void> => {
  const {clock, random, log, open, signal} = parts;
  await using connection = await open(settings);
  const deadline = clock.monotonic() + serverMs;
  for (;;) {
    try {
      await connection.client('bootstrap').request('GET', '/healthz');
      return;
    } catch (error) {
      signal.throwIfAborted();
      log.info({err: error}, 'failed to connect to the API server');
    }
    if (clock.monotonic() >= deadline) break;
    await sleep(clock, jittered(random, lookMs, 0.2), signal);
  }
  log.info('error waiting for the API server to come up: timed out waiting to connect');
};

const certificateIn = ({currentPath: file}: PairStore) => ({cert: {file}, key: {file}});

/** Connects with a certificate that is requested if there is none, and rotated before it expires. */
const renewedIdentity = async <C extends IdentityConnection>(
  parts: IdentityParts<C>,
  own: ConnectionSettings | undefined,
): Promise<OpenedIdentity<C>> => {
  const {settingsFile, folder, files, host, clock, meter, open} = parts;
  const first = own ?? (await bootstrapSettings(parts));
  await using undo = new Undo();
  const opened = async (settings: ConnectionSettings, naming?: Naming): Promise<C> => {
    const result = await open(settings, naming);
    undo.defer(() => result[Symbol.asyncDispose]());
    return result;
  };
  const start = await opened(first);
  const {agent} = start.naming;
  const store = new PairStore({files, host, clock, folder, prefix: `${agent}-client`, configured: own && filesOf(own)});
  if (!own) await files.write(settingsFile, settingsText(first, certificateIn(store)), 0o600);
  const certificate = await AgentCertificate.open(store, clock, own && pairIn(own));
  const shown = observeLifetime({meter, clock}, agent, 'client', certificate);
  undo.defer(() => shown[Symbol.dispose]());
  // A certificate that is due already is rotated in the background.
  const connection = await opened({...first, identity: identityWith(certificate.current)}, start.naming);
  // An expired certificate is used only to request a new one.
  const rotation = rotationOf(parts, {certificate, agent, connection: current => (current ? connection : start)});
  const lost = untilWithoutCertificate(certificate, rotation, parts);
  lost.catch(() => {}); // It may reject before it is awaited.
  rotation.onChange(pair => useCertificate(connection, pair, parts));
  rotation.start();
  const cleanup = undo.move();
  return {connection, lost, [Symbol.asyncDispose]: () => cleanup[Symbol.asyncDispose]()};
};

/** Without a certificate, requests are anonymous. */
const identityWith = (pair: StoredPair | undefined): ClientIdentity =>
  pair ? {certificate: {cert: {data: pair.certificate}, key: {data: pair.key}}} : {};

/** The client certificate of a node, and the inputs of its rotation. */
interface Rotated {
  readonly certificate: AgentCertificate;
  /** The prefix of metric names. */
  readonly agent: string;
  /** Returns the connection on which certificates are requested. */
  connection(current: StoredPair | undefined): IdentityConnection;
}

const rotationOf = (
  {nodeName, clock, random, log, meter, signal}: Omit<IdentityParts<unknown>, 'open'>,
  {certificate, agent, connection}: Rotated,
): CertificateRotation => {
  const signer = (current: StoredPair | undefined): CertificateSigner => {
    const {naming, client} = connection(current);
    return {client: client('certificates'), signerName: naming.signers.apiserverClientAgent};
  };
  return new CertificateRotation({
    certificate,
    requester: new CertificateRequester({use: 'client auth', signer, clock, random, log, signal}),
    template: () => clientTemplate(nodeName),
    renewals: clientRenewals(meter, agent),
    clock,
    random,
    log,
    signal,
  });
};

const useCertificate = (
  connection: IdentityConnection,
  {certificate, key}: StoredPair,
  {clock, log}: Pick<IdentityParts<unknown>, 'clock' | 'log'>,
): void => {
  log.info('certificate rotation detected, shutting down client connections to start using new credentials');
  connection.useCertificate({cert: certificate, key}).catch((error: unknown) => clock.unhandled(error));
};

const filesOf = ({identity: {certificate}}: ConnectionSettings): {readonly certFile: string; readonly keyFile: string} | undefined =>
  certificate && 'file' in certificate.cert && 'file' in certificate.key
    ? {certFile: certificate.cert.file, keyFile: certificate.key.file}
    : undefined;

const pairIn = ({identity: {certificate}}: ConnectionSettings): KeyPairPem | undefined =>
  certificate && 'data' in certificate.cert && 'data' in certificate.key
    ? {certificate: certificate.cert.data, key: certificate.key.data}
    : undefined;
