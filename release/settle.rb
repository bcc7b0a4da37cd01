class Settle < Formula
  desc "<<.About>>"
  homepage "<<.Homepage>>"
  version "<<.Version>>"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "<<.URL>>/v<<.Version>>/settle_<<.Version>>_darwin_arm64.tar.gz"
      sha256 "<<call .Sum "darwin_arm64">>"
    end
    on_intel do
      url "<<.URL>>/v<<.Version>>/settle_<<.Version>>_darwin_amd64.tar.gz"
      sha256 "<<call .Sum "darwin_amd64">>"
    end
  end

  on_linux do
    on_arm do
      url "<<.URL>>/v<<.Version>>/settle_<<.Version>>_linux_arm64.tar.gz"
      sha256 "<<call .Sum "linux_arm64">>"
    end
    on_intel do
      url "<<.URL>>/v<<.Version>>/settle_<<.Version>>_linux_amd64.tar.gz"
      sha256 "<<call .Sum "linux_amd64">>"
    end
  end

  def install
    bin.install "settle"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/settle.bash" => "settle"
    zsh_completion.install "completions/_settle"
    fish_completion.install "completions/settle.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/settle --version")
  end
end
