import {resolve} from 'node:path';
import {messageOf} from '#src/base/message.js';
import type {Undo} from '#src/base/undo.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {gateOf} from '#src/options/parsed-options.js';
import {binaryVersion} from '#src/options/versions.js';
import type {Settings} from '#src/platlet/config/fields.js';
import {cgroupV1Warning} from '#src/platlet/cgroups/hierarchy.js';
import {checkConfiguration} from '#src/platlet/config/validate.js';
import {loadProviders, type InstalledProviders} from '#src/platlet/credential-providers/load.js';
import {lockAgentFolder} from '#src/platlet/host/agent-lock.js';
import {lockFile, untilContended} from '#src/platlet/host/file-lock.js';
import {systemHost} from '#src/platlet/host/system-host.js';
import {nodeNameOf} from '#src/platlet/node/addresses.js';
import {hostOf} from './agent-inputs.js';
import {namingsOf, type AgentInvocation} from './configuration.js';
import {hasSwap, isCgroupV1} from './machine.js';

type Given = AgentInvocation;

/** The machine as this agent's: what it is to do there, and that no other agent does it. */
export interface ClaimedMachine {
  readonly settings: Settings;
  readonly meter: MetricsRegistry;
  readonly host: string;
  readonly nodeName: string;
  readonly credentialProviders: InstalledProviders | undefined;
  /** Resolves when another process wants the machine. */
  readonly contended: Promise<void> | undefined;
  /** Aborts when the agent ends. */
  readonly signal: AbortSignal;
}

/** Checks the configuration, and takes the machine: rejects, or waits, if another agent has it. */
export const claimMachine = async (given: Given, undo: Undo): Promise<ClaimedMachine> => {
  const {options} = given.parsed;
  const settings = await checkedSettings(given, {isCgroupV1, hasSwap});
  const meter = openMeter(settings);
  given.unhandled.countIn(meter);
  const host = hostOf(options);
  const ending = new AbortController();
  undo.defer(() => ending.abort());
  const {signal} = ending;
  const credentialProviders = await credentialProvidersOf(given);
  const own = await lockAgentFolder(systemHost, resolve(options.rootDir), signal).catch((error: unknown) => {
    throw new Error(`--root-dir: ${messageOf(error)}`, {cause: error});
  });
  undo.defer(() => own?.[Symbol.asyncDispose]());
  const {contended} = await lockOf(options, given, undo, signal);
  return {settings, meter, host, nodeName: nodeNameOf(host), credentialProviders, contended, signal};
};

/** Loads the programs that provide credentials for images, before anything of the machine is touched. */
export const credentialProvidersOf = async ({parsed}: Pick<Given, 'parsed'>): Promise<InstalledProviders | undefined> => {
  const {imageCredentialProviderConfig: configuration, imageCredentialProviderBinDir: programs} = parsed.options;
  if (!configuration) return undefined;
  const acceptsTokens = gateOf(parsed)('PlatletServiceAccountTokenForCredentialProviders');
  return loadProviders({configuration, programs, namings: namingsOf(parsed), acceptsTokens}).catch((error: unknown) => {
    throw new Error(`--image-credential-provider-config: ${messageOf(error)}`, {cause: error});
  });
};

/**
 * Locks the file of `--lock-file`, once no other process has it. With `--exit-on-lock-contention`, `contended` resolves
 * when another process wants it.
 */
export const lockOf = async (
  {lockFile: path, exitOnLockContention}: {readonly lockFile: string; readonly exitOnLockContention: boolean},
  {clock, log}: Pick<Given, 'clock' | 'log'>,
  undo: Undo,
  signal: AbortSignal,
): Promise<{readonly contended: Promise<void> | undefined}> => {
  if (!path) return {contended: undefined};
  log.info({file: path}, 'acquiring the file lock');
  const lock = await lockFile(path, signal).catch((error: unknown) => {
    throw new Error(`--lock-file: unable to acquire file lock on "${path}": ${messageOf(error)}`, {cause: error});
  });
  undo.defer(() => lock[Symbol.asyncDispose]());
  if (!exitOnLockContention) return {contended: undefined};
  return {contended: untilContended(lock, clock, signal).then(() => log.info({file: path}, 'another process wants the file lock'))};
};

const openMeter = ({showHiddenMetricsForVersion}: Settings): MetricsRegistry =>
  new MetricsRegistry({process: true, showsHidden: showHiddenMetricsForVersion !== '', release: binaryVersion});

/** What of the machine the configuration has to fit. */
export interface MachineFacts {
  /** Whether the machine has control groups of version 1. */
  isCgroupV1(): Promise<boolean>;
  /** Whether memory is swapped to disk. */
  hasSwap(): Promise<boolean>;
}

/** Returns the configuration, if the agent can work with it on this machine. */
export const checkedSettings = async ({parsed, log}: Pick<Given, 'parsed' | 'log'>, machine: MachineFacts): Promise<Settings> => {
  const {options, settings} = parsed;
  const v1 = await machine.isCgroupV1();
  try {
    checkConfiguration(settings, options.config, {naming: parsed.naming, gate: gateOf(parsed), isCgroupV1: v1});
  } catch (error) {
    if (!v1 || !settings.failCgroupV1) throw error;
    throw new Error(`${messageOf(error)} (--fail-cgroupv1=false, or failCgroupV1 of the configuration file, allows it)`, {cause: error});
  }
  if (v1) log.warn(cgroupV1Warning);
  if (v1 && settings.kernelMemcgNotification) await checkMemoryWatch();
  if (settings.failSwapOn && (await machine.hasSwap()))
    throw new Error('running with swap on is not supported, please disable swap or set --fail-swap-on flag to false');
  return settings;
};

/** Rejects if the kernel's notifications about memory are not available. */
const checkMemoryWatch = async (): Promise<void> => {
  try {
    const ignore = (): void => {};
    using _ = await systemHost.openMemoryWatch(ignore, ignore);
  } catch (error) {
    throw new Error(`--kernel-memcg-notification needs perl on a machine with cgroup v1: ${messageOf(error)}`, {cause: error});
  }
};
