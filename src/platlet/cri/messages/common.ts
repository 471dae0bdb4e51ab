// Messages shared by several calls.

import {flag, int, repeated, map, message, nested, oneOf, text, texts, wrappedInt, ints} from '#src/platlet/rpc/codec.js';

export const emptyMessage = message<Record<never, never>>({});
export const sandboxId = message({podSandboxId: text(1)});
export const containerId = message({containerId: text(1)});

export const imageSpec = message({image: text(1), annotations: map(2), userSpecifiedImage: text(18), runtimeHandler: text(19)});

export const containerResources = message({
  cpuPeriod: int(1),
  cpuQuota: int(2),
  cpuShares: int(3),
  memoryLimitInBytes: int(4),
  oomScoreAdj: int(5),
  cpusetCpus: text(6),
  cpusetMems: text(7),
  hugepageLimits: repeated(message({pageSize: text(1), limit: int(2)}))(8),
  unified: map(9),
  memorySwapLimitInBytes: int(10),
});

export const idMapping = message({hostId: int(1), containerId: int(2), length: int(3)});

const namespaceMode = oneOf('pod', 'container', 'node', 'target');

export const namespaceOption = message({
  network: namespaceMode(1),
  pid: namespaceMode(2),
  ipc: namespaceMode(3),
  targetId: text(4),
  usernsOptions: nested(message({mode: namespaceMode(1), uids: repeated(idMapping)(2), gids: repeated(idMapping)(3)}))(5),
});

const selinuxOption = message({user: text(1), role: text(2), type: text(3), level: text(4)});
const securityProfile = message({profileType: oneOf('RuntimeDefault', 'Unconfined', 'Localhost')(1), localhostRef: text(2)});
const groupsPolicy = oneOf('Merge', 'Strict');

export const sandboxSecurityContext = message({
  namespaceOptions: nested(namespaceOption)(1),
  selinuxOptions: nested(selinuxOption)(2),
  runAsUser: wrappedInt(3),
  readonlyRootfs: flag(4),
  supplementalGroups: ints(5),
  privileged: flag(6),
  seccompProfilePath: text(7),
  runAsGroup: wrappedInt(8),
  seccomp: nested(securityProfile)(9),
  apparmor: nested(securityProfile)(10),
  supplementalGroupsPolicy: groupsPolicy(11),
});

export const containerSecurityContext = message({
  capabilities: nested(message({addCapabilities: texts(1), dropCapabilities: texts(2), addAmbientCapabilities: texts(3)}))(1),
  privileged: flag(2),
  namespaceOptions: nested(namespaceOption)(3),
  selinuxOptions: nested(selinuxOption)(4),
  runAsUser: wrappedInt(5),
  runAsUsername: text(6),
  readonlyRootfs: flag(7),
  supplementalGroups: ints(8),
  apparmorProfile: text(9),
  seccompProfilePath: text(10),
  noNewPrivs: flag(11),
  runAsGroup: wrappedInt(12),
  maskedPaths: texts(13),
  readonlyPaths: texts(14),
  seccomp: nested(securityProfile)(15),
  apparmor: nested(securityProfile)(16),
  supplementalGroupsPolicy: groupsPolicy(17),
});
