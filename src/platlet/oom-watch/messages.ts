// Parses the messages of the kernel's OOM killer. Pure.

/** A process that was killed. */
export interface OomVictim {
  readonly process: string;
  readonly pid: number;
  /** Whether the whole system was out of memory, not just a cgroup. */
  readonly isSystem: boolean;
}

const start = /invoked oom-killer:/;
/** Since Linux 5.0: all in one line. */
const ofGroup =
  /oom-kill:constraint=[^,]*,nodemask=.*,cpuset=.*,mems_allowed=.*,oom_memcg=(?<group>.*),task_memcg=.*,task=(?<process>.*),pid=(?<pid>\d+),uid=/;
/** Before Linux 5.0 the cgroup was in a line of its own. */
const olderGroup = /Task in .* killed as a result of limit of (?<group>.*)/;
const killed = /Killed process (?<pid>\d+) \((?<process>.+)\)/;

/** Returns the text of a kernel log record: `6,339,5140900,-;NET: Registered`, without the continuation lines. */
const textOf = (record: string): string => record.slice(record.indexOf(';') + 1).split('\n', 1)[0] ?? '';

/** Parses messages in sequence. */
export class OomMessages {
  /** The cgroup that is out of memory, until the killed process is named. */
  #group: string | undefined;

  /** Returns the killed process if a record names one. */
  read(record: string): OomVictim | undefined {
    const text = textOf(record);
    if (this.#group === undefined) {
      if (start.test(text)) this.#group = '/';
      return undefined;
    }
    this.#group = olderGroup.exec(text)?.groups?.['group'] ?? this.#group;
    const found = (ofGroup.exec(text) ?? killed.exec(text))?.groups;
    if (!found) return undefined;
    const group = found['group'] ?? this.#group;
    this.#group = undefined;
    return {process: found['process']!, pid: Number(found['pid']), isSystem: group === '/'};
  }
}
