// The kernel of this machine.

import {spawn} from 'node:child_process';
import {access, readFile, writeFile} from 'node:fs/promises';
import {networkInterfaces, release} from 'node:os';
import {confineErrors} from '#src/base/emitters/confined.js';
import type {Command, Finished, ProxyKernel} from './kernel.js';

/** More than any table of the size that clusters have. */
const usualMaxBytes = 256 * 1024 * 1024;
/** The most that is kept of a program's complaints. */
const maxErrorBytes = 64 * 1024;

const run = ({program, args, input, maxBytes = usualMaxBytes}: Command): Promise<Finished> =>
  new Promise((resolve, reject) => {
    const child = confineErrors(spawn(program, args, {stdio: 'pipe'}));
    for (const stream of [child.stdin, child.stdout, child.stderr]) confineErrors(stream);
    const output: Buffer[] = [];
    const errors: Buffer[] = [];
    let size = 0;
    let errorSize = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) output.push(chunk);
      else child.kill('SIGKILL');
    });
    child.stderr.on('data', (chunk: Buffer) => {
      errorSize += chunk.length;
      if (errorSize <= maxErrorBytes) errors.push(chunk);
    });
    child.once('error', reject);
    // A program that ends before it has read everything says why on its own.
    child.stdin.on('error', () => {});
    child.once('close', code => {
      if (size > maxBytes) return reject(new Error(`${program} printed more than ${maxBytes} bytes`));
      resolve({exitCode: code ?? -1, stdout: Buffer.concat(output).toString(), stderr: Buffer.concat(errors).toString()});
    });
    child.stdin.end(input ?? '');
  });

const isMissing = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');

const sysctlPath = (name: string): string => `/proc/sys/${name}`;

/** The kernel of this machine, in the network namespace of this process. */
export const systemKernel: ProxyKernel = {
  run,
  readSysctl: name =>
    readFile(sysctlPath(name), 'utf8').then(
      text => text.trim(),
      (error: unknown) => {
        if (isMissing(error)) return undefined;
        throw error;
      },
    ),
  writeSysctl: (name, value) => writeFile(sysctlPath(name), value),
  release,
  addresses: () => Object.values(networkInterfaces()).flatMap(each => (each ?? []).map(({address}) => address.split('%')[0]!)),
  hasIpv6: () =>
    access('/proc/net/if_inet6').then(
      () => true,
      () => false,
    ),
};
