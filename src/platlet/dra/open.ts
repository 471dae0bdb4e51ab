import {join} from 'node:path';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import {onAbort} from '#src/base/signals.js';
import type {Client} from '#src/client/client.js';
import {CheckpointFile} from '#src/platlet/checkpoint/checkpoint-file.js';
import {stateFiles} from '#src/platlet/host/folders.js';
import type {Host} from '#src/platlet/host/host.js';
import {formatClaimCheckpoint, parseClaimCheckpoint} from './checkpoint.js';
import {ClaimInfos} from './claim-infos.js';
import {ClaimHealth} from './health.js';
import {HealthInfos} from './health-infos.js';
import {ClaimManager} from './manager.js';
import {ClaimMetrics, observeClaimsInUse} from './metrics.js';
import {ClaimPlugins} from './plugins.js';
import {SliceWiping} from './slice-wiping.js';

export interface ClaimStage {
  readonly plugins: ClaimPlugins;
  readonly manager: ClaimManager;
  readonly health: ClaimHealth;
  /** Undefined for an agent without an API server. */
  readonly wiping: SliceWiping | undefined;
}

export interface ClaimSettings {
  readonly identity: {readonly nodeName: string};
  readonly flags: {readonly rootDir: string};
  readonly clients: {readonly isStandalone: boolean; readonly main: Client};
  readonly host: Host;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  gate(name: 'DRAExtendedResource' | 'ResourceHealthStatus'): boolean;
}

/**
 * Creates the manager of resource claims with what an earlier agent process has left. Rejects if that cannot be read:
 * claims that stay prepared would be lost.
 */
export const openClaimManager = async (
  {identity: {nodeName}, flags, clients, host, naming, clock, random, log, meter, gate}: ClaimSettings,
  registered: () => Frozen<Node> | undefined,
  signal: AbortSignal,
): Promise<ClaimStage> => {
  const {main: client, isStandalone} = clients;
  const fileOf = (name: string): CheckpointFile => new CheckpointFile({host, path: join(flags.rootDir, name), clock, log});
  const file = fileOf(stateFiles.claims);
  const claims = await restored(file);
  const health = new ClaimHealth({claims, health: await HealthInfos.open(fileOf(stateFiles.claimHealth), log), clock});
  const metrics = new ClaimMetrics(meter, clock);
  const observed = observeClaimsInUse(meter, () => claims.inUse());
  onAbort(signal, () => observed[Symbol.dispose]());
  const isRegistered = (): boolean => registered() !== undefined;
  const wiping = isStandalone ? undefined : new SliceWiping({client, nodeName, isRegistered, clock, random, log, signal});
  const plugins = new ClaimPlugins({
    naming,
    clock,
    log,
    metrics,
    wiping: wiping ?? {available() {}, lost() {}},
    ...(gate('ResourceHealthStatus') ? {watchHealth: (driver, connected) => health.watch(driver, connected)} : {}),
  });
  const gates = {extendedResources: gate('DRAExtendedResource')};
  return {plugins, manager: new ClaimManager({plugins, client, naming, gates, claims, file, metrics, log}), health, wiping};
};

const restored = async (file: CheckpointFile): Promise<ClaimInfos> => {
  const text = await file.read();
  if (text === undefined) {
    file.write(formatClaimCheckpoint([]));
    await file.saved();
  }
  try {
    return new ClaimInfos(text === undefined ? [] : parseClaimCheckpoint(text));
  } catch (error) {
    throw new Error(
      `create ResourceClaim cache: GetOrCreate() on checkpoint state: failed to get checkpoint ${stateFiles.claims}: ${messageOf(error)}`,
      {cause: error},
    );
  }
};
