// A program that runs beside a plane, in the process of `plat up`, with connection settings and flags of its own.

import {readFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {systemFiles} from '#src/base/files/files.js';
import {messageOf} from '#src/base/message.js';
import {loadAuthority} from '#src/pki/authority.js';
import {issueClientCertificate, keyPairPem} from '#src/pki/issuing.js';
import {settingsText} from '#src/platlet/certificates/settings-file.js';
import type {Plane} from '#src/plane/plane.js';
import {untilStopped, type Invocation} from '#src/program/program.js';

/** What programs share with the process that they run in. */
export type BesideInvocation = Omit<Invocation<unknown>, 'parsed' | 'ready'>;

/** A program that runs. */
export interface ProgramBeside extends AsyncDisposable {
  /** Resolves to why it has ended. */
  readonly ended: Promise<string>;
}

/**
 * Runs a program until it is disposed of, or the process is to stop. Resolves once it is ready; rejects if it fails
 * before.
 */
export const startBeside = async (
  {stopping, log, ...rest}: BesideInvocation,
  {component, what}: {readonly component: string; readonly what: string},
  run: (own: Omit<Invocation<unknown>, 'parsed'>) => Promise<number>,
): Promise<ProgramBeside> => {
  const ending = new AbortController();
  void untilStopped(stopping).then(() => ending.abort());
  let isReady = (): void => {};
  const ready = new Promise<void>(done => (isReady = done));
  const running = run({
    ...rest,
    log: log.child({component}),
    stopping: ending.signal,
    ready: text => {
      log.info({what: text}, what);
      isReady();
    },
  });
  await Promise.race([ready, running]);
  return {
    ended: running.then(code => `exit code ${code}`, messageOf),
    async [Symbol.asyncDispose]() {
      ending.abort();
      await running.catch(() => {});
    },
  };
};

/** Returns flags with these values, unless they are given. */
export const unlessGiven = (given: readonly string[], own: Readonly<Record<string, string>>): string[] =>
  Object.entries(own)
    .filter(([flag]) => !given.some(arg => arg === `--${flag}` || arg.startsWith(`--${flag}=`)))
    .map(([flag, value]) => `--${flag}=${value}`);

/** The folder of the service proxy in the data directory of a plane. */
export const proxyFolder = (dataDir: string): string => resolve(dataDir, 'proxy');

const lifetimeMs = 365 * 24 * 3_600_000;

/** Whose connection settings are written where, and when. */
export interface ConnectionFile {
  readonly dataDir: string;
  readonly path: string;
  readonly user: {readonly commonName: string; readonly organizations: readonly string[]};
  /** In milliseconds since the epoch. */
  readonly now: number;
}

/** Writes connection settings to a plane for a user, with a new certificate by the plane's CA. */
export const writeConnection = async (plane: Plane, {dataDir, path, user, now}: ConnectionFile): Promise<void> => {
  const [certificateFile, keyFile] = ['ca.crt', 'ca.key'].map(file => join(dataDir, 'pki', file)) as [string, string];
  const ca = readFileSync(certificateFile, 'utf8');
  const authority = loadAuthority(certificateFile, ca, readFileSync(keyFile));
  const pair = keyPairPem(await issueClientCertificate(authority, {now, lifetimeMs, ...user}));
  const text = settingsText({server: plane.url, trust: {ca: {data: ca}}}, {cert: {data: pair.certificate}, key: {data: pair.key}});
  await systemFiles.write(path, text, 0o600);
};
