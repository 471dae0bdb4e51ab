// Messages of images and of the runtime itself.

import {flag, repeated, map, message, nested, oneOf, text, texts, time, unsigned, wrappedInt} from '#src/platlet/rpc/codec.js';
import {imageSpec} from './common.js';
import {containerStatus} from './containers.js';
import {sandboxConfig, sandboxStatus} from './sandboxes.js';

export const image = message({
  id: text(1),
  repoTags: texts(2),
  repoDigests: texts(3),
  size: unsigned(4),
  uid: wrappedInt(5),
  username: text(6),
  spec: nested(imageSpec)(7),
  pinned: flag(8),
});
export const listImagesRequest = message({filter: nested(message({image: nested(imageSpec)(1)}))(1)});
export const listImagesResponse = message({images: repeated(image)(1)});
export const imageStatusRequest = message({image: nested(imageSpec)(1), verbose: flag(2)});
export const imageStatusResponse = message({image: nested(image)(1), info: map(2)});

const authConfig = message({
  username: text(1),
  password: text(2),
  auth: text(3),
  serverAddress: text(4),
  identityToken: text(5),
  registryToken: text(6),
});
export const pullImageRequest = message({
  image: nested(imageSpec)(1),
  auth: nested(authConfig)(2),
  sandboxConfig: nested(sandboxConfig)(3),
});
export const pullImageResponse = message({imageRef: text(1)});
export const removeImageRequest = message({image: nested(imageSpec)(1)});

export const versionRequest = message({version: text(1)});
export const versionResponse = message({version: text(1), runtimeName: text(2), runtimeVersion: text(3), runtimeApiVersion: text(4)});

const networkConfig = message({podCidr: text(1)});
export const updateRuntimeConfigRequest = message({runtimeConfig: nested(message({networkConfig: nested(networkConfig)(1)}))(1)});

const condition = message({type: text(1), status: flag(2), reason: text(3), message: text(4)});
const handlerFeatures = message({recursiveReadOnlyMounts: flag(1), userNamespaces: flag(2)});
export const statusRequest = message({verbose: flag(1)});
export const statusResponse = message({
  status: nested(message({conditions: repeated(condition)(1)}))(1),
  info: map(2),
  runtimeHandlers: repeated(message({name: text(1), features: nested(handlerFeatures)(2)}))(3),
  features: nested(message({supplementalGroupsPolicy: flag(1)}))(4),
});

export const runtimeConfigResponse = message({linux: nested(message({cgroupDriver: oneOf('systemd', 'cgroupfs')(1)}))(1)});

export const containerEvent = message({
  containerId: text(1),
  containerEventType: oneOf('created', 'started', 'stopped', 'deleted')(2),
  createdAt: time(3),
  podSandboxStatus: nested(sandboxStatus)(4),
  containersStatuses: repeated(containerStatus)(5),
});
