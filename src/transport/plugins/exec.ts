import {spawn} from 'node:child_process';
import {readFile} from 'node:fs/promises';
import {createSecureContext} from 'node:tls';
import {confineErrors} from '#src/base/emitters/confined.js';
import {messageOf} from '#src/base/message.js';
import type {ClientPair, RequestCredentials} from '#src/transport/request-credentials.js';
import type {ExecCluster, ExecPlugin} from '#src/transport/settings.js';
import {noPlatformAnchors} from '#src/transport/tls-handshake.js';

/**
 * The credentials from a plugin, and when they expire (ms since 1970); without expiry they are used until the server
 * rejects them.
 */
export interface PluginResult {
  readonly proof: RequestCredentials;
  readonly expiresAt?: number;
}

/** The environment of a plugin. */
export interface ExecEnvironment {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether standard input is a terminal, on which a plugin may prompt. */
  readonly isTerminal: boolean;
}

const maxOutputBytes = 1 << 20;

/** Runs a plugin once and parses the credentials it prints. Rejects with the message of upstream's clients. */
export const runExecPlugin = async (plugin: ExecPlugin, environment: ExecEnvironment): Promise<PluginResult> => {
  const interactive = plugin.interactiveMode !== 'Never' && environment.isTerminal;
  if (plugin.interactiveMode === 'Always' && !interactive)
    throw new Error('exec plugin cannot support interactive mode: standard input is not a terminal');
  const spec = {...(plugin.cluster ? {cluster: await clusterInfo(plugin.cluster)} : {}), interactive};
  const info = JSON.stringify({kind: 'ExecCredential', apiVersion: plugin.apiVersion, spec});
  const env = {...environment.env, ...Object.fromEntries(plugin.env), [`${plugin.naming.self.toUpperCase()}_EXEC_INFO`]: info};
  return answerOf(await output(plugin, env, interactive), plugin);
};

const clusterInfo = async ({server, trust, proxyUrl, config}: ExecCluster): Promise<Record<string, unknown>> => {
  const ca = trust.ca && ('data' in trust.ca ? trust.ca.data : await readFile(trust.ca.file, 'utf8'));
  return {
    server,
    ...(trust.serverName ? {'tls-server-name': trust.serverName} : {}),
    ...(trust.insecure ? {'insecure-skip-tls-verify': true} : {}),
    ...(ca ? {'certificate-authority-data': Buffer.from(ca).toString('base64')} : {}),
    ...(proxyUrl ? {'proxy-url': proxyUrl} : {}),
    ...(config === undefined ? {} : {config}),
  };
};

/** The plugin's standard output. Its standard error is passed through. */
const output = (
  {command, args, installHint}: ExecPlugin,
  env: Readonly<Record<string, string | undefined>>,
  interactive: boolean,
): Promise<string> =>
  new Promise((resolve, reject) => {
    const rejectWithHint = (message: string) => reject(new Error(installHint ? `${message}: ${installHint.trim()}` : message));
    const child = confineErrors(spawn(command, args, {stdio: [interactive ? 'inherit' : 'ignore', 'pipe', 'inherit'], env}));
    confineErrors(child.stdout);
    const chunks: Buffer[] = [];
    let bytes = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxOutputBytes) return void chunks.push(chunk);
      child.kill('SIGKILL');
      child.stdout.destroy(); // Child processes of the plugin may keep it open.
    });
    child.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') rejectWithHint(`exec: executable ${command} not found`);
      else reject(new Error(`exec: ${messageOf(error)}`, {cause: error}));
    });
    child.once('close', (code, signal) => {
      if (bytes > maxOutputBytes) reject(new Error(`exec: executable ${command} printed more than ${maxOutputBytes} bytes`));
      else if (code === 0) resolve(Buffer.concat(chunks).toString());
      else rejectWithHint(`exec: executable ${command} failed with ${signal ? `signal ${signal}` : `exit code ${code}`}`);
    });
  });

interface RawCredential {
  readonly kind?: unknown;
  readonly apiVersion?: unknown;
  readonly status?: {
    readonly token?: unknown;
    readonly clientCertificateData?: unknown;
    readonly clientKeyData?: unknown;
    readonly expirationTimestamp?: unknown;
  } | null;
}

const answerOf = (printed: string, {apiVersion}: ExecPlugin): PluginResult => {
  const {kind, apiVersion: returned, status} = decoded(printed);
  if (kind !== 'ExecCredential') throw new Error(`decoding stdout: no kind "${String(kind ?? '')}" is registered`);
  if (returned !== apiVersion)
    throw new Error(`exec plugin is configured to use API version ${apiVersion}, plugin returned version ${String(returned ?? '')}`);
  if (!status) throw new Error("exec plugin didn't return a status field");
  const [token, cert, key] = [status.token, status.clientCertificateData, status.clientKeyData].map(value =>
    typeof value === 'string' ? value : '',
  );
  if (!token && !cert && !key) throw new Error("exec plugin didn't return a token or cert/key pair");
  if (Boolean(cert) !== Boolean(key)) throw new Error('exec plugin returned only certificate or key, not both');
  const expiresAt = typeof status.expirationTimestamp === 'string' ? Date.parse(status.expirationTimestamp) : Number.NaN;
  return {
    proof: {headers: token ? [['authorization', `Bearer ${token}`]] : [], ...(cert && key ? {pair: checkedPair({cert, key})} : {})},
    ...(Number.isNaN(expiresAt) ? {} : {expiresAt}),
  };
};

const decoded = (printed: string): RawCredential => {
  try {
    const value: unknown = JSON.parse(printed);
    return typeof value === 'object' && value !== null ? value : {};
  } catch (cause) {
    throw new Error(`decoding stdout: ${messageOf(cause)}`, {cause});
  }
};

const checkedPair = (pair: ClientPair): ClientPair => {
  try {
    createSecureContext({...pair, ...noPlatformAnchors});
    return pair;
  } catch (cause) {
    throw new Error(`failed parsing client key/certificate: ${messageOf(cause)}`, {cause});
  }
};
