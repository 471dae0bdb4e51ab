import {readFileSync, writeFileSync} from 'node:fs';

/** Those that an agent changes when it starts. */
const names = ['vm/overcommit_memory', 'vm/panic_on_oom', 'kernel/panic', 'kernel/panic_on_oops'];

/** Reads the kernel's parameters. Returns a function that sets them back. */
export const keepKernelParameters = (): (() => void) => {
  const values = names.map(name => readFileSync(`/proc/sys/${name}`));
  return () => {
    for (const [index, name] of names.entries()) {
      const path = `/proc/sys/${name}`;
      if (!readFileSync(path).equals(values[index]!)) writeFileSync(path, values[index]!);
    }
  };
};
