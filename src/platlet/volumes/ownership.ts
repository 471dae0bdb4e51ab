// The fsGroup of a volume.

import type {Clock} from '#src/base/clock.js';
import {filesBelow} from '#src/platlet/host/files-below.js';
import type {Host} from '#src/platlet/host/host.js';

const setgid = 0o2000;
const groupSearch = 0o110;
const readWrite = 0o660;
const readOnly = 0o440;

export interface OwnershipRequest {
  readonly path: string;
  readonly group: number;
  readonly isReadonly: boolean;
  /** Whether a volume is skipped if its root already has the group and mode. */
  readonly onlyOnMismatch: boolean;
  /** Called periodically during a long change, with the number of files processed. */
  readonly progress?: (files: number) => void;
}

const modeFor = (mode: number, isFolder: boolean, isReadonly: boolean): number =>
  mode | (isReadonly ? readOnly : readWrite) | (isFolder ? groupSearch | setgid : 0);

/** When a long change is first reported, and the period afterwards. */
const firstReportMs = 30_000;
const nextReportMs = 60_000;

/** Changes the group of all files of a volume. */
export const giveToGroup = async (
  host: Host,
  clock: Clock,
  {path: root, group, isReadonly, onlyOnMismatch, progress}: OwnershipRequest,
): Promise<void> => {
  const found = await host.status(root);
  if (onlyOnMismatch && found && found.gid === group && modeFor(found.mode, true, isReadonly) === found.mode) return;
  let files = 0;
  let reportAt = clock.monotonic() + firstReportMs;
  for await (const [path, {kind, mode}] of filesBelow(host, root)) {
    await host.changeOwner(path, -1, group);
    // The mode of a symbolic link is that of its target, which may be anywhere.
    if (kind === 'file' || kind === 'folder') await host.changeMode(path, modeFor(mode, kind === 'folder', isReadonly));
    files++;
    if (clock.monotonic() < reportAt) continue;
    progress?.(files);
    reportAt = clock.monotonic() + nextReportMs;
  }
};
