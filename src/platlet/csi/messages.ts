// The messages of the Container Storage Interface, version 1, as far as a node uses them.

import {flag, int, map, message, nested, oneOf, repeated, text, texts} from '#src/platlet/rpc/codec.js';

export const emptyMessage = message<Record<never, never>>({});

const capabilityType = oneOf(
  'UNKNOWN',
  'STAGE_UNSTAGE_VOLUME',
  'GET_VOLUME_STATS',
  'EXPAND_VOLUME',
  'VOLUME_CONDITION',
  'SINGLE_NODE_MULTI_WRITER',
  'VOLUME_MOUNT_GROUP',
  'OTHER',
);
const capability = message({rpc: nested(message({type: capabilityType(1)}))(1)});
export const nodeCapabilities = message({capabilities: repeated(capability)(1)});

export const nodeInfo = message({
  nodeId: text(1),
  maxVolumesPerNode: int(2),
  accessibleTopology: nested(message({segments: map(1)}))(3),
});

const accessMode = oneOf(
  'UNKNOWN',
  'SINGLE_NODE_WRITER',
  'SINGLE_NODE_READER_ONLY',
  'MULTI_NODE_READER_ONLY',
  'MULTI_NODE_SINGLE_WRITER',
  'MULTI_NODE_MULTI_WRITER',
  'SINGLE_NODE_SINGLE_WRITER',
  'SINGLE_NODE_MULTI_WRITER',
);
export const volumeCapability = message({
  block: nested(emptyMessage)(1),
  mount: nested(message({fsType: text(1), mountFlags: texts(2), volumeMountGroup: text(3)}))(2),
  accessMode: nested(message({mode: accessMode(1)}))(3),
});

export const stageRequest = message({
  volumeId: text(1),
  publishContext: map(2),
  stagingTargetPath: text(3),
  volumeCapability: nested(volumeCapability)(4),
  secrets: map(5),
  volumeContext: map(6),
});
export const unstageRequest = message({volumeId: text(1), stagingTargetPath: text(2)});
export const publishRequest = message({
  volumeId: text(1),
  publishContext: map(2),
  stagingTargetPath: text(3),
  targetPath: text(4),
  volumeCapability: nested(volumeCapability)(5),
  readonly: flag(6),
  secrets: map(7),
  volumeContext: map(8),
});
export const unpublishRequest = message({volumeId: text(1), targetPath: text(2)});

export const statsRequest = message({volumeId: text(1), volumePath: text(2), stagingTargetPath: text(3)});
const usage = message({available: int(1), total: int(2), used: int(3), unit: oneOf('UNKNOWN', 'BYTES', 'INODES', 'OTHER')(4)});
export const statsResponse = message({
  usage: repeated(usage)(1),
  volumeCondition: nested(message({abnormal: flag(1), message: text(2)}))(2),
});

export const expandRequest = message({
  volumeId: text(1),
  volumePath: text(2),
  capacityRange: nested(message({requiredBytes: int(1), limitBytes: int(2)}))(3),
  stagingTargetPath: text(4),
  volumeCapability: nested(volumeCapability)(5),
  secrets: map(6),
});
export const expandResponse = message({capacityBytes: int(1)});
