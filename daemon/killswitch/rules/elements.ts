// Pure: replaces the elements of sets that the kernel forgets.

/** Elements of each set, by its name. */
export type Elements = Readonly<Record<string, readonly string[]>>;

/** Text of one transaction for `nft -i`. */
export function renderElements(elements: Elements, table: string): string {
  return Object.entries(elements)
    .flatMap(([name, values]) => {
      const set = `inet ${table} ${name}`;
      return [`flush set ${set}`, ...(values.length ? [`add element ${set} { ${values.join(', ')} }`] : [])];
    })
    .join('; ');
}
