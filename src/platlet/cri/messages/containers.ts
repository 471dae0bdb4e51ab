// Messages of containers and of commands in them.

import {bytes, flag, int, ints, repeated, map, message, nested, oneOf, text, texts, time, type Message} from '#src/platlet/rpc/codec.js';
import {containerResources, containerSecurityContext, idMapping, imageSpec} from './common.js';
import {signal} from './signals.js';

export const containerMetadata = message({name: text(1), attempt: int(2)});

const mount = message({
  containerPath: text(1),
  hostPath: text(2),
  readonly: flag(3),
  selinuxRelabel: flag(4),
  propagation: oneOf('private', 'host-to-container', 'bidirectional')(5),
  uidMappings: repeated(idMapping)(6),
  gidMappings: repeated(idMapping)(7),
  recursiveReadOnly: flag(8),
  image: nested(imageSpec)(9),
  imageSubPath: text(10),
});

export const containerConfig = message({
  metadata: nested(containerMetadata)(1),
  image: nested(imageSpec)(2),
  command: texts(3),
  args: texts(4),
  workingDir: text(5),
  envs: repeated(message({key: text(1), value: bytes(2)}))(6),
  mounts: repeated(mount)(7),
  devices: repeated(message({containerPath: text(1), hostPath: text(2), permissions: text(3)}))(8),
  labels: map(9),
  annotations: map(10),
  logPath: text(11),
  stdin: flag(12),
  stdinOnce: flag(13),
  tty: flag(14),
  linux: nested(message({resources: nested(containerResources)(1), securityContext: nested(containerSecurityContext)(2)}))(15),
  cdiDevices: repeated(message({name: text(1)}))(17),
  stopSignal: signal(18),
});

/** The request to create a container, with the configuration of its sandbox. */
export const createContainerRequest = <A>(sandboxConfig: Message<A>) =>
  message({podSandboxId: text(1), config: nested(containerConfig)(2), sandboxConfig: nested(sandboxConfig)(3)});

export const stopContainerRequest = message({containerId: text(1), timeout: int(2)});

export const containerState = oneOf('created', 'running', 'exited', 'unknown');

const stateValue = message({state: containerState(1)});
export const listContainersRequest = message({
  filter: nested(message({id: text(1), state: nested(stateValue)(2), podSandboxId: text(3), labelSelector: map(4)}))(1),
});

export const containerItem = message({
  id: text(1),
  podSandboxId: text(2),
  metadata: nested(containerMetadata)(3),
  image: nested(imageSpec)(4),
  imageRef: text(5),
  state: containerState(6),
  createdAt: time(7),
  labels: map(8),
  annotations: map(9),
  imageId: text(10),
});
export const listContainersResponse = message({containers: repeated(containerItem)(1)});

export const containerStatusRequest = message({containerId: text(1), verbose: flag(2)});

const user = message({uid: int(1), gid: int(2), supplementalGroups: ints(3)});

export const containerStatus = message({
  id: text(1),
  metadata: nested(containerMetadata)(2),
  state: containerState(3),
  createdAt: time(4),
  startedAt: time(5),
  finishedAt: time(6),
  exitCode: int(7),
  image: nested(imageSpec)(8),
  imageRef: text(9),
  reason: text(10),
  message: text(11),
  labels: map(12),
  annotations: map(13),
  mounts: repeated(mount)(14),
  logPath: text(15),
  resources: nested(message({linux: nested(containerResources)(1)}))(16),
  imageId: text(17),
  user: nested(message({linux: nested(user)(1)}))(18),
  stopSignal: signal(19),
});
export const containerStatusResponse = message({status: nested(containerStatus)(1), info: map(2)});

export const updateResourcesRequest = message({containerId: text(1), linux: nested(containerResources)(2), annotations: map(4)});

export const execSyncRequest = message({containerId: text(1), cmd: texts(2), timeout: int(3)});
export const execSyncResponse = message({stdout: bytes(1), stderr: bytes(2), exitCode: int(3)});

export const execRequest = message({containerId: text(1), cmd: texts(2), tty: flag(3), stdin: flag(4), stdout: flag(5), stderr: flag(6)});
export const attachRequest = message({containerId: text(1), stdin: flag(2), tty: flag(3), stdout: flag(4), stderr: flag(5)});
export const portForwardRequest = message({podSandboxId: text(1), port: ints(2)});
export const streamResponse = message({url: text(1)});

export const checkpointRequest = message({containerId: text(1), location: text(2), timeout: int(3)});
