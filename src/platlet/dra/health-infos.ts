// What plugins tell of the health of their devices, which counts for a limited time. Pure but for the file.

import {messageOf} from '#src/base/message.js';
import {parseTime} from '#src/api/time.js';
import type {Log} from '#src/base/log.js';
import type {CheckpointFile} from '#src/platlet/checkpoint/checkpoint-file.js';
import {isFields, parsedFields} from '#src/platlet/checkpoint/fields.js';
import type {ReportedHealth} from './messages.js';

export type Health = ReportedHealth['health'];

/** The health of a device, with when it was told and for how long it counts. */
interface DeviceHealth {
  readonly pool: string;
  readonly device: string;
  readonly health: Health;
  readonly at: number;
  readonly timeoutMs: number;
}

type Devices = Map<string, DeviceHealth>;

const usualTimeoutMs = 30_000;
const nanosecondsPerMs = 1e6;
const healths: readonly string[] = ['Unknown', 'Healthy', 'Unhealthy'] satisfies readonly Health[];

const isOver = ({at, timeoutMs}: DeviceHealth, now: number): boolean => now - at > (timeoutMs || usualTimeoutMs);

/** A device whose health has changed. */
export type ChangedDevice = Pick<DeviceHealth, 'pool' | 'device'>;

/** Notes what a driver reports. Returns the devices whose health is another now. */
export const noteHealth = (devices: Devices, reported: readonly ReportedHealth[], now: number): readonly ChangedDevice[] => {
  const changed: DeviceHealth[] = [];
  const seen = new Set<string>();
  for (const {device: {poolName: pool, deviceName: device} = {poolName: '', deviceName: ''}, health, timeoutSeconds} of reported) {
    const key = `${pool}/${device}`;
    const before = devices.get(key);
    const timeoutMs = timeoutSeconds > 0 ? timeoutSeconds * 1000 : usualTimeoutMs;
    const next = {pool, device, health, at: now, timeoutMs};
    if (before?.health !== health || before.timeoutMs !== timeoutMs) changed.push(next);
    devices.set(key, next);
    seen.add(key);
  }
  for (const [key, device] of devices) {
    if (seen.has(key) || device.health === 'Unknown' || !isOver(device, now)) continue;
    const next: DeviceHealth = {...device, health: 'Unknown', at: now};
    devices.set(key, next);
    changed.push(next);
  }
  return changed;
};

const format = (drivers: ReadonlyMap<string, Devices>): string =>
  JSON.stringify(
    Object.fromEntries(
      [...drivers].map(([driver, devices]) => [
        driver,
        {
          Devices: Object.fromEntries(
            [...devices].map(([key, {pool, device, health, at, timeoutMs}]) => [
              key,
              {
                PoolName: pool,
                DeviceName: device,
                Health: health,
                LastUpdated: new Date(at).toISOString(),
                HealthCheckTimeout: timeoutMs * nanosecondsPerMs,
              },
            ]),
          ),
        },
      ]),
    ),
  );

const parse = (text: string): Map<string, Devices> => {
  const drivers = new Map<string, Devices>();
  for (const [driver, state] of Object.entries(parsedFields(text))) {
    const devices: Devices = new Map();
    const all = isFields(state) && isFields(state['Devices']) ? state['Devices'] : {};
    for (const [key, fields] of Object.entries(all)) {
      if (!isFields(fields)) continue;
      const {PoolName, DeviceName, Health: health, LastUpdated, HealthCheckTimeout} = fields;
      devices.set(key, {
        pool: String(PoolName),
        device: String(DeviceName),
        health: healths.includes(String(health)) ? (health as Health) : 'Unknown',
        at: parseTime(String(LastUpdated)) ?? 0,
        timeoutMs: Number(HealthCheckTimeout ?? 0) / nanosecondsPerMs,
      });
    }
    drivers.set(driver, devices);
  }
  return drivers;
};

/** The health of devices, by driver, pool and device. */
export class HealthInfos {
  readonly #file: Pick<CheckpointFile, 'write'>;
  readonly #drivers: Map<string, Devices>;

  private constructor(file: Pick<CheckpointFile, 'write'>, drivers: Map<string, Devices>) {
    this.#file = file;
    this.#drivers = drivers;
  }

  /** Reads what an earlier process was told. */
  static async open(file: Pick<CheckpointFile, 'read' | 'write'>, log: Log): Promise<HealthInfos> {
    let drivers = new Map<string, Devices>();
    try {
      drivers = parse((await file.read()) ?? '{}');
    } catch (error) {
      log.error({err: messageOf(error)}, 'failed to load health checkpoint, proceeding with empty cache');
    }
    return new HealthInfos(file, drivers);
  }

  /** Returns the health of a device at a time, in ms since the epoch. */
  of(driver: string, {pool, device}: ChangedDevice, now: number): Health {
    const found = this.#drivers.get(driver)?.get(`${pool}/${device}`);
    return found && !isOver(found, now) ? found.health : 'Unknown';
  }

  /** Notes what a driver reports. Returns the devices whose health is another now. */
  note(driver: string, reported: readonly ReportedHealth[], now: number): readonly ChangedDevice[] {
    const devices = this.#drivers.get(driver) ?? new Map<string, DeviceHealth>();
    this.#drivers.set(driver, devices);
    const changed = noteHealth(devices, reported, now);
    if (changed.length > 0) this.#file.write(format(this.#drivers));
    return changed;
  }

  /** Forgets the devices of a driver that tells nothing any more. */
  clear(driver: string): void {
    if (this.#drivers.delete(driver)) this.#file.write(format(this.#drivers));
  }
}
