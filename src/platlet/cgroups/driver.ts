export type CgroupDriver = 'cgroupfs' | 'systemd';

/**
 * Returns in one line why the agent cannot work with a cgroup driver; undefined if it can. What the runtime reports
 * takes precedence over the configuration.
 */
export const driverProblem = (reported: CgroupDriver | undefined, configured: string): string | undefined => {
  if ((reported ?? configured) !== 'systemd') return undefined;
  const source = reported ? 'the container runtime' : '--cgroup-driver, or cgroupDriver of the configuration file,';
  return `${source} asks for the cgroup driver systemd, which this agent does not have: use cgroupfs (SystemdCgroup = false in containerd)`;
};
