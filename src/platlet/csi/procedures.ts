// The procedures of CSI drivers that a node calls.

import type {Value} from '#src/platlet/rpc/codec.js';
import {procedureOf} from '#src/platlet/rpc/procedure.js';
import * as messages from './messages.js';

const node = procedureOf('csi.v1.Node');

export const procedures = {
  capabilities: node('NodeGetCapabilities', messages.emptyMessage, messages.nodeCapabilities),
  info: node('NodeGetInfo', messages.emptyMessage, messages.nodeInfo),
  stage: node('NodeStageVolume', messages.stageRequest, messages.emptyMessage),
  unstage: node('NodeUnstageVolume', messages.unstageRequest, messages.emptyMessage),
  publish: node('NodePublishVolume', messages.publishRequest, messages.emptyMessage),
  unpublish: node('NodeUnpublishVolume', messages.unpublishRequest, messages.emptyMessage),
  stats: node('NodeGetVolumeStats', messages.statsRequest, messages.statsResponse),
  expand: node('NodeExpandVolume', messages.expandRequest, messages.expandResponse),
};

export type NodeInfo = Value<typeof messages.nodeInfo>;
export type VolumeCapability = Value<typeof messages.volumeCapability>;
export type AccessMode = NonNullable<VolumeCapability['accessMode']>['mode'];
export type VolumeStatsResponse = Value<typeof messages.statsResponse>;
/** What the node service of a driver can do. */
export type Capability = NonNullable<Value<typeof messages.nodeCapabilities>['capabilities'][number]['rpc']>['type'];
