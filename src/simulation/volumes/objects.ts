import type {Frozen} from '#src/api/key.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import {isAlreadyExists} from '#src/api/status.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject, Node} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import type {Machine} from '#src/simulation/node/node-object.js';
import {driverName} from './context.js';

/** The name of the default storage class. */
const className = 'standard';

/** Creates an object; returns false if it exists. */
export const createUnlessPresent = async <T extends KubeObject>(client: Client, kind: Kind<T>, object: T): Promise<boolean> => {
  try {
    await client.resource(kind).create(object);
    return true;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return false;
  }
};

/** Creates the CSIDriver and its storage class, unless they exist. */
export const createDriverObjects = async (client: Client, naming: Naming): Promise<void> => {
  const name = driverName(naming);
  await createUnlessPresent(client, kinds.csiDrivers, {
    metadata: {name},
    spec: {attachRequired: true, podInfoOnMount: false, volumeLifecycleModes: ['Persistent', 'Ephemeral']},
  });
  await createUnlessPresent(client, kinds.storageClasses, {
    metadata: {name: className, annotations: {[naming.subKey('storageclass', 'is-default-class')]: 'true'}},
    provisioner: name,
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'WaitForFirstConsumer',
    allowVolumeExpansion: true,
  });
};

/** Registers the driver in the CSINode of a node, like its agent. */
export const announceDriver = async (client: Client, naming: Naming, {name, maxVolumes}: Machine, node: Frozen<Node>): Promise<void> => {
  const driver = {
    name: driverName(naming),
    nodeID: name,
    topologyKeys: [naming.labels.hostname],
    ...(maxVolumes === undefined ? {} : {allocatable: {count: maxVolumes}}),
  };
  const isNew = await createUnlessPresent(client, kinds.csiNodes, {
    metadata: {
      name,
      ownerReferences: [{apiVersion: naming.apiVersion('', 'v1'), kind: kinds.nodes.kind, name, uid: node.metadata?.uid ?? ''}],
    },
    spec: {drivers: [driver]},
  });
  if (isNew) return;
  const resource = client.resource(kinds.csiNodes);
  const found = await resource.get(name);
  // `drivers` is null for a node without drivers.
  const drivers = found.spec.drivers ?? [];
  if (drivers.some(each => each.name === driver.name)) return;
  await resource.update({...found, spec: {drivers: [...drivers, driver]}});
};
