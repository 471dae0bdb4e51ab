// Messages of sandboxes.

import {flag, int, repeated, map, message, nested, oneOf, text, texts, time} from '#src/platlet/rpc/codec.js';
import {containerResources, namespaceOption, sandboxSecurityContext} from './common.js';
import {containerStatus} from './containers.js';

export const sandboxMetadata = message({name: text(1), uid: text(2), namespace: text(3), attempt: int(4)});

const portMapping = message({protocol: oneOf('TCP', 'UDP', 'SCTP')(1), containerPort: int(2), hostPort: int(3), hostIp: text(4)});

export const sandboxConfig = message({
  metadata: nested(sandboxMetadata)(1),
  hostname: text(2),
  logDirectory: text(3),
  dnsConfig: nested(message({servers: texts(1), searches: texts(2), options: texts(3)}))(4),
  portMappings: repeated(portMapping)(5),
  labels: map(6),
  annotations: map(7),
  linux: nested(
    message({
      cgroupParent: text(1),
      securityContext: nested(sandboxSecurityContext)(2),
      sysctls: map(3),
      overhead: nested(containerResources)(4),
      resources: nested(containerResources)(5),
    }),
  )(8),
});

export const runSandboxRequest = message({config: nested(sandboxConfig)(1), runtimeHandler: text(2)});

export const sandboxState = oneOf('ready', 'notReady');

export const sandboxStatus = message({
  id: text(1),
  metadata: nested(sandboxMetadata)(2),
  state: sandboxState(3),
  createdAt: time(4),
  network: nested(message({ip: text(1), additionalIps: repeated(message({ip: text(1)}))(2)}))(5),
  linux: nested(message({namespaces: nested(message({options: nested(namespaceOption)(2)}))(1)}))(6),
  labels: map(7),
  annotations: map(8),
  runtimeHandler: text(9),
});

export const sandboxStatusRequest = message({podSandboxId: text(1), verbose: flag(2)});
export const sandboxStatusResponse = message({
  status: nested(sandboxStatus)(1),
  info: map(2),
  containersStatuses: repeated(containerStatus)(3),
  timestamp: time(4),
});

const stateValue = message({state: sandboxState(1)});
export const listSandboxRequest = message({filter: nested(message({id: text(1), state: nested(stateValue)(2), labelSelector: map(3)}))(1)});

export const sandboxItem = message({
  id: text(1),
  metadata: nested(sandboxMetadata)(2),
  state: sandboxState(3),
  createdAt: time(4),
  labels: map(5),
  annotations: map(6),
  runtimeHandler: text(7),
});
export const listSandboxResponse = message({items: repeated(sandboxItem)(1)});

export const updateSandboxResourcesRequest = message({
  podSandboxId: text(1),
  overhead: nested(containerResources)(2),
  resources: nested(containerResources)(3),
});
