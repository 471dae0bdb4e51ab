// The messages of the kernel about processes that it killed because memory ran out. Pure.

/** A process that was killed. */
export interface OomVictim {
  readonly process: string;
  readonly pid: number;
  /** Whether the whole machine was out of memory, and not a control group. */
  readonly isSystem: boolean;
}

const start = /invoked oom-killer:/;
/** Since Linux 5.0: one line for a limit of a group. */
const ofGroup =
  /oom-kill:constraint=[^,]*,nodemask=.*,cpuset=.*,mems_allowed=.*,oom_memcg=(?<group>.*),task_memcg=.*,task=(?<process>.*),pid=(?<pid>\d+),uid=/;
/** Before, the group was in a line of its own. */
const olderGroup = /Task in .* killed as a result of limit of (?<group>.*)/;
const killed = /Killed process (?<pid>\d+) \((?<process>.+)\)/;

/** Returns the text of a record: `6,339,5140900,-;NET: Registered`, with further lines that describe it. */
const textOf = (record: string): string => record.slice(record.indexOf(';') + 1).split('\n', 1)[0] ?? '';

/** Reads the messages one after the other. */
export class OomMessages {
  /** The group that is out of memory, while it is not yet said which process is killed. */
  #group: string | undefined;

  /** Returns the process of which a record says that it was killed. */
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
