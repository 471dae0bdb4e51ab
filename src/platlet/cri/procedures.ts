// The procedures of the container runtime interface, version 1.

import {procedureOf} from '#src/platlet/rpc/procedure.js';
import {containerId, emptyMessage, sandboxId} from './messages/common.js';
import * as containers from './messages/containers.js';
import * as images from './messages/images.js';
import * as sandboxes from './messages/sandboxes.js';
import * as usage from './messages/usage.js';

const runtime = procedureOf('runtime.v1.RuntimeService');
const image = procedureOf('runtime.v1.ImageService');

export const procedures = {
  version: runtime('Version', images.versionRequest, images.versionResponse),
  status: runtime('Status', images.statusRequest, images.statusResponse),
  runtimeConfig: runtime('RuntimeConfig', emptyMessage, images.runtimeConfigResponse),
  updateRuntimeConfig: runtime('UpdateRuntimeConfig', images.updateRuntimeConfigRequest, emptyMessage),

  runPodSandbox: runtime('RunPodSandbox', sandboxes.runSandboxRequest, sandboxId),
  stopPodSandbox: runtime('StopPodSandbox', sandboxId, emptyMessage),
  removePodSandbox: runtime('RemovePodSandbox', sandboxId, emptyMessage),
  podSandboxStatus: runtime('PodSandboxStatus', sandboxes.sandboxStatusRequest, sandboxes.sandboxStatusResponse),
  listPodSandbox: runtime('ListPodSandbox', sandboxes.listSandboxRequest, sandboxes.listSandboxResponse),
  updatePodSandboxResources: runtime('UpdatePodSandboxResources', sandboxes.updateSandboxResourcesRequest, emptyMessage),

  createContainer: runtime('CreateContainer', containers.createContainerRequest(sandboxes.sandboxConfig), containerId),
  startContainer: runtime('StartContainer', containerId, emptyMessage),
  stopContainer: runtime('StopContainer', containers.stopContainerRequest, emptyMessage),
  removeContainer: runtime('RemoveContainer', containerId, emptyMessage),
  listContainers: runtime('ListContainers', containers.listContainersRequest, containers.listContainersResponse),
  containerStatus: runtime('ContainerStatus', containers.containerStatusRequest, containers.containerStatusResponse),
  updateContainerResources: runtime('UpdateContainerResources', containers.updateResourcesRequest, emptyMessage),
  reopenContainerLog: runtime('ReopenContainerLog', containerId, emptyMessage),
  checkpointContainer: runtime('CheckpointContainer', containers.checkpointRequest, emptyMessage),
  containerEvents: runtime('GetContainerEvents', emptyMessage, images.containerEvent),

  execSync: runtime('ExecSync', containers.execSyncRequest, containers.execSyncResponse),
  exec: runtime('Exec', containers.execRequest, containers.streamResponse),
  attach: runtime('Attach', containers.attachRequest, containers.streamResponse),
  portForward: runtime('PortForward', containers.portForwardRequest, containers.streamResponse),

  containerStats: runtime('ContainerStats', containerId, usage.containerStatsResponse),
  listContainerStats: runtime('ListContainerStats', usage.listContainerStatsRequest, usage.listContainerStatsResponse),
  podSandboxStats: runtime('PodSandboxStats', sandboxId, usage.sandboxStatsResponse),
  listPodSandboxStats: runtime('ListPodSandboxStats', usage.listSandboxStatsRequest, usage.listSandboxStatsResponse),

  listImages: image('ListImages', images.listImagesRequest, images.listImagesResponse),
  imageStatus: image('ImageStatus', images.imageStatusRequest, images.imageStatusResponse),
  pullImage: image('PullImage', images.pullImageRequest, images.pullImageResponse),
  removeImage: image('RemoveImage', images.removeImageRequest, emptyMessage),
  imageFsInfo: image('ImageFsInfo', emptyMessage, usage.imageFsInfoResponse),
};
