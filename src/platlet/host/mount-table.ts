import type {MountPoint} from './host.js';

/** Replaces the octal escapes of blanks and backslashes in the mount table. */
const unescaped = (text: string): string => text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)));

/** Returns the mounts in the text of `/proc/PID/mountinfo`. Malformed lines are skipped. */
export const parseMounts = (text: string): MountPoint[] =>
  text.split('\n').flatMap(line => {
    const fields = line.split(' ');
    const end = fields.indexOf('-', 6);
    if (end < 0) return [];
    const [type = '', source = '', options = ''] = fields.slice(end + 1);
    return [
      {
        path: unescaped(fields[4]!),
        root: unescaped(fields[3]!),
        device: fields[2]!,
        type,
        source: unescaped(source),
        options: [...fields[5]!.split(','), ...options.split(',')],
        isShared: fields.slice(6, end).some(field => field.startsWith('shared:')),
      },
    ];
  });
