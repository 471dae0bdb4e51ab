// Notifications of cgroups of version 1 about memory usage. They need an eventfd, which Node.js cannot create: a child
// process in Perl, which Debian always has, creates them and reports events.

import {spawn} from 'node:child_process';
import {confineErrors} from '#src/base/emitters/confined.js';
import {createInterface} from 'node:readline';
import type {MemoryThreshold, MemoryWatch} from './host.js';

/** The numbers of the system call `eventfd2`, by architecture. */
const eventfd2: Readonly<Partial<Record<NodeJS.Architecture, number>>> = {x64: 290, arm64: 19, riscv64: 19, s390x: 324, ppc64: 314};

/** Reads lines of folders and thresholds, each of which replaces the one before, and prints a line for each event. */
const script = `
use strict;
my ($eventfd2) = @ARGV;
my @events;
my $input = '';
$| = 1;
sub watch {
  my ($folder, $bytes) = @_;
  open(my $usage, '<', "$folder/memory.usage_in_bytes") or die "$folder/memory.usage_in_bytes: $!\\n";
  my $number = syscall($eventfd2 + 0, 0, 02000000);
  die "eventfd: $!\\n" if $number < 0;
  open(my $event, '<&=', $number) or die "eventfd: $!\\n";
  open(my $control, '>', "$folder/cgroup.event_control") or die "$folder/cgroup.event_control: $!\\n";
  syswrite($control, join(' ', $number, fileno($usage), $bytes)) or die "$folder/cgroup.event_control: $!\\n";
  push @events, $event;
}
while (1) {
  my $ready = '';
  vec($ready, fileno($_), 1) = 1 for (*STDIN, @events);
  next if select($ready, undef, undef, undef) < 0;
  for (@events) {
    next unless vec($ready, fileno($_), 1);
    sysread($_, my $count, 8);
    print "crossed\\n";
  }
  next unless vec($ready, fileno(STDIN), 1);
  sysread(STDIN, $input, 65536, length $input) or exit;
  while ($input =~ s/^(.*)\\n//) {
    @events = ();
    my @words = split / /, $1;
    watch(splice(@words, 0, 2)) while @words;
  }
}
`;

/** Starts watching memory. `crossed` is called when usage crosses a threshold, `failed` if the watch ends by itself. */
export const openMemoryWatch = async (crossed: () => void, failed: (message: string) => void): Promise<MemoryWatch> => {
  const number = eventfd2[process.arch];
  if (number === undefined) throw new Error(`notifications of memory are not supported on ${process.arch}`);
  const child = confineErrors(spawn('perl', ['-e', script, String(number)], {stdio: ['pipe', 'pipe', 'pipe']}));
  let errors = '';
  let isStopped = false;
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  child.stdin.on('error', () => {});
  await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject));
  child.once('close', () => {
    if (!isStopped) failed(errors.trim() || 'it has ended');
  });
  createInterface({input: child.stdout}).on('line', () => crossed());
  return {
    set(thresholds: readonly MemoryThreshold[]) {
      child.stdin.write(`${thresholds.map(({folder, bytes}) => `${folder} ${bytes}`).join(' ')}\n`);
    },
    [Symbol.dispose]() {
      isStopped = true;
      child.stdin.end();
      child.kill();
    },
  };
};
