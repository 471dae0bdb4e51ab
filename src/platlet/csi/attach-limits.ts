// Whether a node can have no more volumes of a driver, although its CSINode says so.

import {kinds} from '#src/api/kinds/index.js';
import type {Log} from '#src/base/log.js';
import type {Client} from '#src/client/client.js';
import {grpcCodes} from '#src/transport/grpc/channel.js';
import type {DriverObjects} from './driver-objects.js';
import type {CsiDrivers} from './drivers.js';
import {attachmentName, type CsiVolume} from './volume.js';

export interface AttachLimitsParts {
  readonly client: Client;
  readonly nodeName: string;
  readonly drivers: Pick<CsiDrivers, 'refresh'>;
  readonly objects: Pick<DriverObjects, 'known'>;
  readonly log: Log;
}

/** Finds volumes that cannot be attached because the node has too many. */
export class AttachLimits {
  readonly #parts: AttachLimitsParts;

  constructor(parts: AttachLimitsParts) {
    this.#parts = parts;
  }

  /**
   * Whether a volume was not attached because the node is full, as the attacher reports. Then its driver is asked again
   * how many volumes the node can have. Only for drivers whose objects say how often that is done.
   */
  async isExceeded(volume: CsiVolume): Promise<boolean> {
    const {client, nodeName, drivers, objects, log} = this.#parts;
    const {driver} = volume;
    if (!objects.known(driver)?.spec.nodeAllocatableUpdatePeriodSeconds) return false;
    const name = attachmentName(volume, nodeName);
    try {
      const {status} = await client.resource(kinds.volumeAttachments).get(name);
      if (status?.attachError?.errorCode !== grpcCodes.resourceExhausted) return false;
    } catch (error) {
      log.error({attachment: name, err: error}, 'failed to get a volume attachment');
      return false;
    }
    await drivers.refresh(driver).catch((error: unknown) => log.error({driver, err: error}, 'failed to update a CSI driver'));
    return true;
  }
}
