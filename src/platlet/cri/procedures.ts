// The procedures of the container runtime interface, version 1.

import type {Message} from './messages/codec.js';
import {containerId, emptyMessage, sandboxId} from './messages/common.js';
import * as containers from './messages/containers.js';
import * as images from './messages/images.js';
import * as sandboxes from './messages/sandboxes.js';
import * as usage from './messages/usage.js';

/** A procedure with the types of its messages. */
export interface Procedure<Request, Response> {
  readonly path: string;
  readonly request: Message<Request>;
  readonly response: Message<Response>;
}

const of =
  (service: string) =>
  <Request, Response>(name: string, request: Message<Request>, response: Message<Response>): Procedure<Request, Response> => ({
    path: `/runtime.v1.${service}/${name}`,
    request,
    response,
  });

const runtime = of('RuntimeService');
const image = of('ImageService');

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
