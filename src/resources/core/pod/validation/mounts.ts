import {forbiddenField, invalid, notFoundValue, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {isWrong} from '#src/api/collect-errors.js';
import type {AnyContainer, Volume, VolumeDevice, VolumeMount} from '#src/api/pod.js';
import {validateDescendingPath, validateNoBacksteps} from '#src/resources/validation/paths.js';
import type {ContainerRules} from './rules.js';

const propagations = ['Bidirectional', 'HostToContainer', 'None'];

function* propagation({mountPropagation: mode}: VolumeMount, {securityContext}: AnyContainer, path: string): Iterable<FieldError> {
  if (mode === undefined) return;
  if (!propagations.includes(mode)) yield notSupported(path, mode, propagations);
  if (mode === 'Bidirectional' && securityContext?.privileged !== true) {
    yield forbiddenField(path, 'Bidirectional mount propagation is available only to privileged containers');
  }
}

function* recursiveReadOnly({recursiveReadOnly: mode, readOnly, mountPropagation}: VolumeMount, path: string): Iterable<FieldError> {
  if (mode === undefined || mode === 'Disabled') return;
  if (mode !== 'Enabled' && mode !== 'IfPossible') return yield notSupported(path, mode, ['Disabled', 'Enabled', 'IfPossible']);
  if (!readOnly) yield forbiddenField(path, 'may only be specified when readOnly is true');
  if (mountPropagation !== undefined && mountPropagation !== 'None')
    yield forbiddenField(path, 'may only be specified when mountPropagation is None or not specified');
}

function* parts({subPath, subPathExpr}: VolumeMount, path: string, at: string): Iterable<FieldError> {
  if (subPath) yield* validateDescendingPath(`${path}.subPath`, subPath);
  if (!subPathExpr) return;
  if (subPath) yield invalid(`${at}.subPathExpr`, subPathExpr, 'subPathExpr and subPath are mutually exclusive');
  yield* validateDescendingPath(`${path}.subPathExpr`, subPathExpr);
}

/** Validates volume mounts. Some paths name the list only, as in the original's errors. */
export function* validateMounts(container: AnyContainer, path: string, {volumes}: ContainerRules): Iterable<FieldError> {
  const devices = container.volumeDevices ?? [];
  const taken = new Set<string>();
  for (const [i, mount] of (container.volumeMounts ?? []).entries()) {
    const at = `${path}[${i}]`;
    const {name, mountPath} = mount;
    if (!name) yield required(`${at}.name`);
    const volume = volumes.get(name);
    if (!volume) yield notFoundValue(`${at}.name`, name);
    if (!mountPath) yield required(`${at}.mountPath`);
    if (taken.has(mountPath)) yield invalid(`${at}.mountPath`, mountPath, 'must be unique');
    taken.add(mountPath);
    if (devices.some(device => device.name === name)) yield invalid(`${at}.name`, name, 'must not already exist in volumeDevices');
    if (devices.some(({devicePath}) => devicePath === mountPath))
      yield invalid(`${at}.mountPath`, mountPath, 'must not already exist as a path in volumeDevices');
    yield* parts(mount, path, at);
    yield* propagation(mount, container, `${path}.mountPropagation`);
    yield* recursiveReadOnly(mount, `${path}.recursiveReadOnly`);
  }
}

function* device({name, devicePath}: VolumeDevice, at: string, volume: Volume | undefined): Iterable<FieldError> {
  if (!name) yield required(`${at}.name`);
  if (volume && !volume.persistentVolumeClaim && !volume.ephemeral) {
    yield invalid(`${at}.name`, name, 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode');
  }
  if (!volume) yield notFoundValue(`${at}.name`, name);
  if (!devicePath) yield required(`${at}.devicePath`);
}

/** Validates volume devices. */
export function* validateDevices(container: AnyContainer, path: string, {volumes}: ContainerRules): Iterable<FieldError> {
  const mounts = container.volumeMounts ?? [];
  const names = new Set<string>();
  const paths = new Set<string>();
  for (const [i, {name, devicePath}] of (container.volumeDevices ?? []).entries()) {
    const at = `${path}[${i}]`;
    if (names.has(name)) yield invalid(`${at}.name`, name, 'must be unique');
    yield* device({name, devicePath}, at, volumes.get(name));
    if (paths.has(devicePath)) yield invalid(`${at}.devicePath`, devicePath, 'must be unique');
    if (isWrong(validateNoBacksteps('', devicePath))) yield invalid(`${at}.devicePath`, devicePath, "can not contain backsteps ('..')");
    else paths.add(devicePath);
    if (mounts.some(mount => mount.name === name)) yield invalid(`${at}.name`, name, 'must not already exist in volumeMounts');
    if (mounts.some(({mountPath}) => mountPath === devicePath))
      yield invalid(`${at}.devicePath`, devicePath, 'must not already exist as a path in volumeMounts');
    if (name) names.add(name);
  }
}
