import {isNotFound} from '#src/api/status.js';
import {deleteObject} from '#src/apiserver/registry/write/delete.js';
import {registryReader} from '#src/apiserver/registry/read/reader.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {Pools} from '#src/apiserver/registry/write-services.js';
import {ServiceAddresses} from './addresses.js';
import {ownWrites} from './own-writes.js';
import {NodePorts, type PortRange} from './ports.js';

/** The ranges of service addresses and node ports. */
export interface ServiceRanges {
  /** One or two ranges of different families; the first has the default family. */
  readonly addresses: readonly string[];
  readonly ports: PortRange;
}

/** Creates the pools of a server, over its own registry. */
export const createPools = (registry: Registry, {addresses, ports}: ServiceRanges): Pools => ({
  addresses: new ServiceAddresses(registry, addresses),
  nodePorts: new NodePorts(registry.settings, ports),
  reader: registryReader(registry),
  async remove(kind, namespace, name) {
    try {
      await deleteObject(registry.of(kind), namespace, name, {}, ownWrites(kind, registry.settings.naming));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  },
});
