// The usage and the health of a volume, as its driver reports them.

import type {FilesystemStats} from '#src/api/node/stats.js';
import type {MeasuredVolume} from '#src/platlet/volumes/plugin.js';
import type {CsiDrivers} from './drivers.js';
import {procedures, type VolumeStatsResponse} from './procedures.js';
import type {CsiVolume} from './volume.js';

/** Returns what a driver says of a volume; units that it leaves out are zero. */
const usageOf = ({usage}: VolumeStatsResponse): Omit<FilesystemStats, 'at'> => {
  const bytes = usage.findLast(({unit}) => unit === 'BYTES');
  const inodes = usage.findLast(({unit}) => unit === 'INODES');
  return {
    availableBytes: bytes?.available ?? 0,
    capacityBytes: bytes?.total ?? 0,
    usedBytes: bytes?.used ?? 0,
    inodesFree: inodes?.available ?? 0,
    inodes: inodes?.total ?? 0,
    inodesUsed: inodes?.used ?? 0,
  };
};

/** Asks drivers for their volumes. */
export class Measuring {
  readonly #drivers: Pick<CsiDrivers, 'client'>;
  readonly #withHealth: boolean;

  /** `withHealth`: the condition of volumes too. */
  constructor(drivers: Pick<CsiDrivers, 'client'>, withHealth: boolean) {
    this.#drivers = drivers;
    this.#withHealth = withHealth;
  }

  /** Returns what a driver says of a volume; undefined if it does not measure volumes. */
  async measure({driver, handle}: Pick<CsiVolume, 'driver' | 'handle'>, path: string): Promise<MeasuredVolume | undefined> {
    const client = this.#drivers.client(driver);
    const can = await client.capabilities();
    if (!can.has('GET_VOLUME_STATS')) return undefined;
    const response = await client.call(procedures.stats, {volumeId: handle, volumePath: path});
    const hasCondition = this.#withHealth && can.has('VOLUME_CONDITION');
    if (!hasCondition && response.usage.length === 0) throw new Error('failed to get usage from response. usage is nil');
    const {abnormal = false, message = ''} = response.volumeCondition ?? {};
    return {...usageOf(response), ...(hasCondition ? {health: {abnormal, message}} : {})};
  }
}
