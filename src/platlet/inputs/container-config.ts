// The configuration of a container. Pure.

import {expandKnown} from '#src/model/pod/expansion.js';
import type {ContainerOptions} from './container-options.js';
import type {ContainerConfigRequest} from '#src/platlet/pod/ports.js';
import type {ContainerConfig, ContainerResources, ContainerSecurity, MountConfig} from '#src/platlet/runtime/configs.js';
import {identityLabels} from '#src/platlet/runtime/labels.js';
import {containerAnnotations} from './annotations.js';

export interface ContainerFacts {
  readonly environment: ReadonlyMap<string, string>;
  readonly mounts: readonly MountConfig[];
  readonly resources: ContainerResources;
  readonly security: ContainerSecurity;
  /** What it gets with its devices; the environment and the mounts have theirs already. */
  readonly options: Pick<ContainerOptions, 'devices' | 'annotations' | 'cdiDevices'>;
}

/** Returns the configuration of a container. */
export const containerConfig = (
  {pod, container, attempt, image, sandbox}: ContainerConfigRequest,
  {environment, mounts, resources, security, options}: ContainerFacts,
): ContainerConfig => {
  const expanded = (texts: readonly string[] = []): string[] => texts.map(text => expandKnown(text, name => environment.get(name)));
  return {
    name: container.name,
    attempt,
    image: {image: image.ref, userSpecified: container.image ?? ''},
    command: expanded(container.command),
    args: expanded(container.args),
    workingDir: container.workingDir ?? '',
    environment: [...environment].map(([name, value]) => ({name, value})),
    mounts,
    devices: options.devices,
    cdiDevices: options.cdiDevices,
    labels: identityLabels(sandbox.pod, container.name),
    annotations: {...options.annotations, ...containerAnnotations(pod, container, attempt)},
    logPath: `${container.name}/${attempt}.log`,
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    ...stopSignalOf(container),
    resources,
    security,
  };
};

const stopSignalOf = ({lifecycle}: ContainerConfigRequest['container']): {stopSignal?: string} =>
  lifecycle?.stopSignal ? {stopSignal: lifecycle.stopSignal} : {};
