// The options of the policies of the topology manager. Pure.

export interface TopologyOptions {
  /** Of NUMA nodes that are as many, those that are closest to each other are preferred. */
  readonly prefersClosest: boolean;
  readonly maxNumaNodes: number;
}

/** With more NUMA nodes the number of combinations becomes too large. */
const leastMaxNumaNodes = 8;

/** Parses the value of an option as Go does. Throws if it is no boolean. */
export const parseGoBool = (name: string, text: string): boolean => {
  if (/^(?:1|t|T|true|TRUE|True)$/.test(text)) return true;
  if (/^(?:0|f|F|false|FALSE|False)$/.test(text)) return false;
  throw new Error(`bad value for option ${JSON.stringify(name)}: strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax`);
};

const maxNumaNodesOf = (name: string, text: string): number => {
  if (!/^[+-]?\d{1,9}$/.test(text))
    throw new Error(
      `unable to convert policy option to integer ${JSON.stringify(name)}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  if (Number(text) < leastMaxNumaNodes)
    throw new Error(`the minimum value of ${JSON.stringify(name)} should not be less than ${leastMaxNumaNodes}`);
  return Number(text);
};

/** Parses the options. Throws if one is unknown or has no valid value. All of them are stable: no gate is asked. */
export const topologyOptions = (given: Readonly<Record<string, string>>): TopologyOptions => {
  let parsed: TopologyOptions = {prefersClosest: false, maxNumaNodes: leastMaxNumaNodes};
  for (const [name, text] of Object.entries(given)) {
    if (name === 'prefer-closest-numa-nodes') parsed = {...parsed, prefersClosest: parseGoBool(name, text)};
    else if (name === 'max-allowable-numa-nodes') parsed = {...parsed, maxNumaNodes: maxNumaNodesOf(name, text)};
    else throw new Error(`unknown Topology Manager Policy option: ${JSON.stringify(name)}`);
  }
  return parsed;
};
