// Interactive shells whose completions are tried.
import { spawnSync } from 'node:child_process';

/** The reason to skip a test where this shell is missing. */
export function skipWithout(shell: string): { skip: string | false } {
  const missing = spawnSync(shell, ['--version']).error !== undefined;
  return { skip: missing && `${shell} is not installed` };
}

/** Types each line into an interactive zsh, presses Tab, and prints what zsh would insert or list. Its words: a setup, and lines. */
export const ZSH_DRIVER = String.raw`
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1= PS2= RPS1=; unsetopt prompt_cr prompt_sp beep; autoload -Uz compinit;' \
  'compadd() { local -a own; builtin compadd -A own "$@"; hits+=("$own[@]"); builtin compadd "$@" };' \
  'press() { hits=(); zle complete-word; print -r -- "<""<${'$'}{(j:,:)hits}>"">"; BUFFER= };' \
  'zle -N press; bindkey "^I" press;' "$1;" 'print "REA""DY"'
zpty -r shell out '*READY*'
shift
for line; do
  zpty -w -n shell "$line"$'\t'
  zpty -r shell out '*<<*>>*'
  out=${'$'}{out##*<<}
  print -r -- "${'$'}{out%%>>*}"
done
zpty -d shell`;
