// The services by which monitoring and other tools of the node learn which resources containers have.

import {emptyMessage} from '#src/platlet/cri/messages/common.js';
import {int, ints, message, nested, repeated, text, texts, unsigned, type Draft, type Value} from '#src/platlet/rpc/codec.js';
import {procedureOf} from '#src/platlet/rpc/procedure.js';

const topology = message({nodes: repeated(message({id: int(1)}))(1)});
const containerDevices = message({resourceName: text(1), deviceIds: texts(2), topology: nested(topology)(3)});
const containerMemory = message({memoryType: text(1), size: unsigned(2), topology: nested(topology)(3)});

const claimResource = message({
  cdiDevices: repeated(message({name: text(1)}))(1),
  driverName: text(2),
  poolName: text(3),
  deviceName: text(4),
  shareId: text(5),
});
const dynamicResource = message({claimName: text(2), claimNamespace: text(3), claimResources: repeated(claimResource)(4)});

const containerResources = message({
  name: text(1),
  devices: repeated(containerDevices)(2),
  cpuIds: ints(3),
  memory: repeated(containerMemory)(4),
  dynamicResources: repeated(dynamicResource)(5),
});
const podResources = message({name: text(1), namespace: text(2), containers: repeated(containerResources)(3)});
const listResponse = message({podResources: repeated(podResources)(1)});

export type DevicesMessage = Draft<Value<typeof containerDevices>>;
export type ClaimResourceMessage = Draft<Value<typeof claimResource>>;
export type DynamicResourceMessage = Draft<Value<typeof dynamicResource>>;
export type MemoryMessage = Draft<Value<typeof containerMemory>>;
export type ContainerResourcesMessage = Draft<Value<typeof containerResources>>;
export type PodResourcesMessage = Draft<Value<typeof podResources>>;

const v1 = procedureOf('v1.PodResourcesLister');

export const list = v1('List', emptyMessage, listResponse);
export const getAllocatable = v1(
  'GetAllocatableResources',
  emptyMessage,
  message({devices: repeated(containerDevices)(1), cpuIds: ints(2), memory: repeated(containerMemory)(3)}),
);
export const get = v1('Get', message({podName: text(1), podNamespace: text(2)}), message({podResources: nested(podResources)(1)}));

const alphaDevices = message({resourceName: text(1), deviceIds: texts(2)});
const alphaContainer = message({name: text(1), devices: repeated(alphaDevices)(2)});
const alphaPod = message({name: text(1), namespace: text(2), containers: repeated(alphaContainer)(3)});

export const listAlpha = procedureOf('v1alpha1.PodResourcesLister')('List', emptyMessage, message({podResources: repeated(alphaPod)(1)}));
