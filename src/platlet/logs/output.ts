// The files that containers leave on the node: termination messages and logs.

import {join} from 'node:path';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {NodeFolders} from '#src/platlet/host/folders.js';
import type {Host} from '#src/platlet/host/host.js';
import {containerKeys} from '#src/platlet/inputs/annotations.js';
import type {ContainerOutput} from '#src/platlet/pod/ports.js';
import {messageLimits} from '#src/platlet/pod/termination-message.js';
import type {ContainerInstance, PodIdentity} from '#src/platlet/runtime/state.js';

/** A line of a log: time, stream and tag come before the text. */
const logLine = /^\S+ (?:stdout|stderr) ([FP])(?::\S*)? (.*)$/s;

/** How many bytes are read to find the last lines of a log, whose lines have fields besides the text. */
const fieldBytes = 64;

/** Returns the text of log lines without their fields. Lines without text are omitted. */
export const logText = (lines: readonly string[]): string =>
  lines
    .map(line => {
      const [, tag, text = ''] = logLine.exec(line) ?? [];
      return tag === undefined ? '' : tag === 'F' ? `${text}\n` : text;
    })
    .join('');

/** The path of the link to the log of a run. */
const linkOf = (folder: string, {name, namespace}: Pick<PodIdentity, 'name' | 'namespace'>, container: string, id: string): string =>
  join(folder, `${name}_${namespace}_${container}-${id}.log`);

/** The files of a node's containers. */
export class ContainerFiles implements ContainerOutput {
  readonly #host: Host;
  readonly #folders: NodeFolders;

  constructor(host: Host, folders: NodeFolders) {
    this.#host = host;
    this.#folders = folders;
  }

  async terminationMessage({annotations, mounts = []}: ContainerInstance): Promise<string> {
    const path = annotations[containerKeys.messagePath];
    const file = path ? mounts.find(({containerPath}) => containerPath === path)?.hostPath : undefined;
    if (file === undefined) return '';
    const content = await this.#host.readStart(file, messageLimits.file);
    return content.toString();
  }

  async logTail({logPath}: ContainerInstance, lines: number, bytes: number): Promise<string> {
    if (!logPath) return '';
    const content = await this.#host.readEnd(logPath, bytes + lines * fieldBytes);
    const text = logText(
      content
        .toString()
        .split('\n')
        .slice(-lines - 1),
    );
    return Buffer.from(text).subarray(-bytes).toString();
  }

  async lastAttempt(pod: Frozen<Pod>, container: string): Promise<number | undefined> {
    const names = await this.#host.list(join(this.#folders.logs(pod), container));
    const attempts = names.flatMap(name => /^(\d+)\.log/.exec(name)?.[1] ?? []).map(Number);
    return attempts.length > 0 ? Math.max(...attempts) : undefined;
  }

  async started(pod: Pick<PodIdentity, 'name' | 'namespace'>, container: string, id: string, log: string): Promise<void> {
    const {containerLogs} = this.#folders;
    if (containerLogs === undefined) return;
    await this.#host.makeFolder(containerLogs, 0o755);
    const path = linkOf(containerLogs, pod, container, id);
    await this.#host.removeFile(path);
    await this.#host.link(log, path);
  }

  async removeLogs({id, name, attempt, pod}: ContainerInstance): Promise<void> {
    const {containerLogs} = this.#folders;
    const folder = join(this.#folders.logs({metadata: pod}), name);
    const own = new RegExp(`^${attempt}\\.log(\\..+)?$`);
    for (const file of await this.#host.list(folder)) if (own.test(file)) await this.#host.removeFile(join(folder, file));
    if (containerLogs !== undefined) await this.#host.removeFile(linkOf(containerLogs, pod, name, id));
  }

  /** Removes the logs of unknown pods, and links to removed logs. */
  async sweep(isKnown: (uid: string) => boolean): Promise<void> {
    const {podLogs, containerLogs} = this.#folders;
    for (const name of await this.#host.list(podLogs)) {
      const uid = /^[^_]+_[^_]+_([^_]+)$/.exec(name)?.[1];
      if (uid !== undefined && !isKnown(uid)) await this.#host.removeTree(join(podLogs, name));
    }
    if (containerLogs === undefined) return;
    for (const name of await this.#host.list(containerLogs)) {
      const path = join(containerLogs, name);
      if ((await this.#host.linkStatus(path))?.kind === 'link' && !(await this.#host.status(path))) await this.#host.removeFile(path);
    }
  }
}
