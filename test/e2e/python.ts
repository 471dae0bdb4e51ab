import {execFile, execFileSync} from 'node:child_process';

/** Debian's own: another Python does not see its packages. */
const python = '/usr/bin/python3';

/** Whether the Python client is installed; prints a message where it is not. */
export const hasPython = (): boolean => {
  try {
    execFileSync(python, ['-c', 'import kubernetes.stream'], {stdio: 'pipe'});
    return true;
  } catch {
    console.log('skipped: the Python client (python3-kubernetes) is not installed');
    return false;
  }
};

/** Runs a program to its end and returns its output; throws its error output. */
export const runPython = (program: string, ...args: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    execFile(python, ['-c', program, ...args], {timeout: 60_000}, (error, stdout, stderr) =>
      error ? reject(new Error(stderr || error.message)) : resolve(stdout),
    );
  });
